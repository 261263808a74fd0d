"""The files of tests that take long, by name."""

SLOW = (
    "test_bugreport.py",
    "test_closures.py",
    "test_clustering_workers.py",
    "test_damaged.py",
    "test_functions.py",
    "test_guide.py",
    "test_hlo_command.py",
    "test_inspecting.py",
    "test_large_models.py",
    "test_locate_attention.py",
    "test_locate_installed.py",
    "test_mutants.py",
    "test_on_targets.py",
    "test_other_sizes.py",
    "test_pairs.py",
    "test_peers_live.py",
    "test_planted.py",
    "test_pytest_repository.py",
    "test_recompiles_command.py",
    "test_recorded_damaged.py",
    "test_signals.py",
    "test_target_screening.py",
    "test_themes_first_half.py",
    "test_themes_second_half.py",
    "test_tune.py",
    "test_tuned.py",
    "test_wrong_where_few_look.py",
)
"""What `make slow` runs, and `make test` leaves out: half of all the time for a tenth of the specifications."""

HEAVY = (
    "test_align_values.py",
    "test_catalogue.py",
    "test_conditions.py",
    "test_convolution.py",
    "test_costs.py",
    "test_html.py",
    "test_installed_operations.py",
    "test_library.py",
    "test_library_of_training.py",
    "test_locate_proofs.py",
    "test_locating.py",
    "test_operation_map.py",
    "test_pooling.py",
    "test_results_page.py",
    "test_scale.py",
    "test_stats.py",
)
"""What `make check` leaves to `make test`: they start no process, and take two thirds of the time of such."""

LONGEST = (
    "test_contract.py",
    "test_functions.py",
    "test_guide.py",
    "test_large_models.py",
    "test_mutants.py",
    "test_other_sizes.py",
    "test_pairs.py",
    "test_planted.py",
    "test_recorded.py",
    "test_run.py",
    "test_themes_first_half.py",
    "test_themes_second_half.py",
    "test_training.py",
)
"""Half a minute and more each: started last, one of them would run alone while the other core is idle."""
