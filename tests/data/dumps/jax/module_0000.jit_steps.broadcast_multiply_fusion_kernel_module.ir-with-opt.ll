; ModuleID = '__compute_module_broadcast_multiply_fusion_kernel_module'
source_filename = "__compute_module_broadcast_multiply_fusion_kernel_module"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; Function Attrs: nofree norecurse nosync nounwind memory(readwrite, inaccessiblemem: none, target_mem: none) uwtable
define noalias noundef ptr @broadcast_multiply_fusion(ptr nofree readonly captures(none) %0) local_unnamed_addr #0 {
  %2 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %3 = load ptr, ptr %2, align 8, !invariant.load !3
  %4 = load ptr, ptr %3, align 8, !invariant.load !3, !dereferenceable !4
  br label %.preheader

.preheader:                                       ; preds = %1, %.preheader
  %5 = phi i64 [ 0, %1 ], [ %30, %.preheader ]
  %.idx = shl i64 %5, 8
  %6 = getelementptr i8, ptr %4, i64 %.idx
  %wide.load = load <8 x float>, ptr %6, align 4, !alias.scope !5
  %7 = tail call <8 x float> @llvm.sin.v8f32(<8 x float> %wide.load)
  %8 = fmul <8 x float> %7, splat (float 2.000000e+00)
  store <8 x float> %8, ptr %6, align 4, !alias.scope !5
  %9 = getelementptr i8, ptr %6, i64 32
  %wide.load.1 = load <8 x float>, ptr %9, align 4, !alias.scope !5
  %10 = tail call <8 x float> @llvm.sin.v8f32(<8 x float> %wide.load.1)
  %11 = fmul <8 x float> %10, splat (float 2.000000e+00)
  store <8 x float> %11, ptr %9, align 4, !alias.scope !5
  %12 = getelementptr i8, ptr %6, i64 64
  %wide.load.2 = load <8 x float>, ptr %12, align 4, !alias.scope !5
  %13 = tail call <8 x float> @llvm.sin.v8f32(<8 x float> %wide.load.2)
  %14 = fmul <8 x float> %13, splat (float 2.000000e+00)
  store <8 x float> %14, ptr %12, align 4, !alias.scope !5
  %15 = getelementptr i8, ptr %6, i64 96
  %wide.load.3 = load <8 x float>, ptr %15, align 4, !alias.scope !5
  %16 = tail call <8 x float> @llvm.sin.v8f32(<8 x float> %wide.load.3)
  %17 = fmul <8 x float> %16, splat (float 2.000000e+00)
  store <8 x float> %17, ptr %15, align 4, !alias.scope !5
  %18 = getelementptr i8, ptr %6, i64 128
  %wide.load.4 = load <8 x float>, ptr %18, align 4, !alias.scope !5
  %19 = tail call <8 x float> @llvm.sin.v8f32(<8 x float> %wide.load.4)
  %20 = fmul <8 x float> %19, splat (float 2.000000e+00)
  store <8 x float> %20, ptr %18, align 4, !alias.scope !5
  %21 = getelementptr i8, ptr %6, i64 160
  %wide.load.5 = load <8 x float>, ptr %21, align 4, !alias.scope !5
  %22 = tail call <8 x float> @llvm.sin.v8f32(<8 x float> %wide.load.5)
  %23 = fmul <8 x float> %22, splat (float 2.000000e+00)
  store <8 x float> %23, ptr %21, align 4, !alias.scope !5
  %24 = getelementptr i8, ptr %6, i64 192
  %wide.load.6 = load <8 x float>, ptr %24, align 4, !alias.scope !5
  %25 = tail call <8 x float> @llvm.sin.v8f32(<8 x float> %wide.load.6)
  %26 = fmul <8 x float> %25, splat (float 2.000000e+00)
  store <8 x float> %26, ptr %24, align 4, !alias.scope !5
  %27 = getelementptr i8, ptr %6, i64 224
  %wide.load.7 = load <8 x float>, ptr %27, align 4, !alias.scope !5
  %28 = tail call <8 x float> @llvm.sin.v8f32(<8 x float> %wide.load.7)
  %29 = fmul <8 x float> %28, splat (float 2.000000e+00)
  store <8 x float> %29, ptr %27, align 4, !alias.scope !5
  %30 = add nuw nsw i64 %5, 1
  %exitcond1.not = icmp eq i64 %30, 64
  br i1 %exitcond1.not, label %broadcast_multiply_fusion_wrapped.exit, label %.preheader, !llvm.loop !8

broadcast_multiply_fusion_wrapped.exit:           ; preds = %.preheader
  ret ptr null
}

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.sin.v8f32(<8 x float>) #1

attributes #0 = { nofree norecurse nosync nounwind memory(readwrite, inaccessiblemem: none, target_mem: none) uwtable "frame-pointer"="all" "prefer-vector-width"="256" }
attributes #1 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.module.flags = !{!0, !1}
!xla_cpu_memory_region_name = !{!2}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 1, !"xla_dylib_index", i64 0}
!2 = !{!"xla_cpu_emitter__loop_fusion_kernel_emitter__hlo_opcode__fusion"}
!3 = !{}
!4 = !{i64 16384}
!5 = !{!6}
!6 = distinct !{!6, !7, !"broadcast_multiply_fusion_wrapped: argument 0"}
!7 = distinct !{!7, !"broadcast_multiply_fusion_wrapped"}
!8 = distinct !{!8, !9}
!9 = !{!"llvm.loop.unroll.disable"}
