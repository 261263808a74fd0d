"""`pytest -p compare.pytest_plugin` loads the plugin too: the name that installations of before know it by."""

pytest_plugins = ("jaxport._pytest_plugin",)
