"""Unread arguments: the parameters that no code reads, since nothing depends on them, with the reason.

A key is a parameter, `"swap_memory"`, or a function or class and its parameter, `"Saver.sharded"`.  A test finds each
parameter that the body of a function does not read, and compares them with these tables.
"""

from __future__ import annotations

_HINT = "A hint for speed or memory, which changes no result."
_NO_OPERATION = "No operation is made, so none has a name."
_ONE_PROCESS = "One process computes everything, and has all variables."
_REPLICAS = "Replicas are processes, which `dovetail run --processes` starts."
_ONE_FILE = "A checkpoint has one shard, in the second version of the format."
_ONLY_PATHS = "The state of a folder has the paths of its checkpoints alone."
_DIMENSIONS = "Shapes are inferred anyway, and are right."
_COMPOSITE = "Sparse tensors are leaves either way."
_EXACT = "The elements are found exactly, whatever part of them would do."
_ONLY_IN_ERRORS = "TensorFlow has it in errors alone; these say which feature is wrong."
_LIMIT = "An error names one line of the program."
_NO_GRAPH = "A trace writes no graph; `tf.summary.graph` does."
_ALL_SHOWN = "The timeline shows each operation with its inputs, at the time when it ran."
_OWN_TOOLS = "Only TensorFlow's documentation and its warnings need it."
INTERFACE = "Whoever calls it gives this argument, and other classes need it."

_HOOKS = (
    "StepHook",
    "_StopIf",
    "CheckpointSaverListener",
    "SessionRunHook",
    "StepCounterHook",
    "SummarySaverHook",
    "_Evaluating",
    "ValidationMonitor",
)

_COLUMNS = ("Numeric", "Bucketized", "Indicator")
_FILES = ("TextLineDataset", "TFRecordDataset")
_HELPERS = {
    "Helper": "name state time",
    "CustomHelper": "name",
    "TrainingHelper": "name outputs others more",
    "ScheduledEmbeddingTrainingHelper": "name state time",
    "GreedyEmbeddingHelper": "name outputs time",
    "SampleEmbeddingHelper": "name state time",
}

# The parameters of `tf`.
TENSORFLOW = {
    "use_locking": "The assignments of a run come in one order, and never race.",
    "read_data_sets.source_url": "Nothing is downloaded.",
    "shared_name": _ONE_PROCESS,
    "MirroredStrategy.devices": _REPLICAS,
    "MirroredStrategy.cross_device_ops": _REPLICAS,
    "CrossDeviceOps.args": _REPLICAS,
    "CrossDeviceOps.options": _REPLICAS,
    "OneDeviceStrategy.device": _REPLICAS,
    "QueueBase.element": INTERFACE,
    "ClusterResolver.args": _ONE_PROCESS,
    "ClusterResolver.kwargs": _ONE_PROCESS,
    "CSRSparseMatrix.name": _NO_OPERATION,
    "RaggedTensor.name": _NO_OPERATION,
    "RaggedTensor.validate": "The parts of rows are taken as they are given.",
    "_eager.unread": "A variable outside of graphs has no collections, parts, or reuse.",
    "csr_matmul.name": _NO_OPERATION,
    "RNNParamsSaveable.args": "Layers have the variables of checkpoints themselves.",
    "RNNParamsSaveable.kwargs": "Layers have the variables of checkpoints themselves.",
    "image.bad_color": "Pixels that are no numbers are drawn as in other summaries of images.",
    "initialize.session": "Writers are open from the start.",
    "initialize_resources.resource_list": "Tables and others make themselves.",
    "QueueRunner.import_scope": "It goes with queue_runner_def, which is refused.",
    "input_producer.summary_name": "No summary tells how full the queue is.",
    "metric_variable.validate_shape": "The shape is known.",
    "remove_squeezable_dimensions.name": _NO_OPERATION,
    "swap_memory": _HINT,
    "parallel_iterations": _HINT,
    "use_cudnn_on_gpu": _HINT,
    "a_is_sparse": _HINT,
    "b_is_sparse": _HINT,
    "optimize": _HINT,
    "caching_device": _HINT,
    "colocate_gradients_with_ops": "A gradient is always for the device of the operation that it is a gradient of.",
    "gate_gradients": "The gradients of a run are computed from one state of the variables.",
    "use_resource": "All variables are resource variables.",
    "synchronization": _ONE_PROCESS,
    "aggregation": _ONE_PROCESS,
    "Initializer.info": INTERFACE,
    "partitioner.others": INTERFACE,
    **{f"{it}.{end}": INTERFACE for it in ("_on_device", "_renamed_op", "_sorted") for end in ("inputs", "outputs")},
    **dict.fromkeys(("_sorted.arguments", "transform.inputs", "transform.outputs"), INTERFACE),
    **dict.fromkeys(("restore_op_name", "filename_tensor_name"), "TensorFlow ignores it, too."),
    **dict.fromkeys(("input_saver", "input_saver_def"), "The graph's own nodes say the keys of its variables."),
    "checkpoint_version": "Only the second version is read.",
    "optimize_for_inference.toco_compatible": "No node is made that only TensorFlow has.",
    "lower_control_flow": "TensorFlow runs branches and loops of functions, too.",
    "aggressive_inlining": _HINT,
    "_single.unread": "Each is a hint, or of copies that there are not.",
    "options": "Files are written by this process, where the path says.",
    "validate_indices": "Indices out of range are treated as everywhere else; TensorFlow ignores it, too.",
    "expand_composites": _COMPOSITE,
    "infer_shape": _DIMENSIONS,
    "layout": "Tensors are on one device each.",
    # variables
    "variable.import_scope": "It goes with variable_def, which is refused.",
    "variable.expected_shape": "TensorFlow ignores it, too.",
    "report_uninitialized_variables.name": _NO_OPERATION,
    "_Finder.module": INTERFACE,
    "_Finder.path": INTERFACE,
    "_Finder.target": INTERFACE,
    **dict.fromkeys([f"_Placement.{name}" for name in ["values", "graph", "ends", "notes", "found"]], INTERFACE),
    **dict.fromkeys(["Text.arrays", "Text.feed_dict", "Text.session"], INTERFACE),
    "_OfText.graph": INTERFACE,
    "index_table_from_tensor.dtype": "The words say it.",
    "KeyValueTensorInitializer.name": _NO_OPERATION,
    "hash_table.name": _NO_OPERATION,
    "index_table_from_file.name": _NO_OPERATION,
    "index_table_from_tensor.name": _NO_OPERATION,
    "index_to_string_table_from_file.name": _NO_OPERATION,
    "index_to_string_table_from_tensor.name": _NO_OPERATION,
    "Initializer.options": _ONE_PROCESS,
    # pipelines of data
    **dict.fromkeys(
        [f"Dataset.{it}" for it in ("buffer_size", "filename", "num_parallel_calls", "options")],
        "Elements are computed in this process, when they are needed.",
    ),
    "Dataset.deterministic": "Elements come in their order.",
    "make_csv_dataset.sloppy": "Elements come in their order.",
    "extract_glimpse_v1.uniform_noise": "The noise is uniform in either case, as in TensorFlow 2.21.",
    "Dataset.name": _NO_OPERATION,
    **dict.fromkeys(
        (
            *("Dataset.num_threads", "Dataset.output_buffer_size", "FixedLengthRecordDataset.buffer_size"),
            *(f"{kind}.{hint}" for kind in _FILES for hint in ("buffer_size", "num_parallel_reads")),
            *("CsvDataset.buffer_size", "make_csv_dataset.num_parallel_reads", "make_csv_dataset.prefetch_buffer_size"),
            *("map_and_batch.num_parallel_batches", "map_and_batch.num_parallel_calls", "numpy_input_fn.num_threads"),
            *("parallel_interleave.ignored", "parallel_interleave.hints", "the_same.args", "the_same.kwargs"),
            *("_input_fn.ignored", "_input_fn.hints"),
        ),
        _HINT,
    ),
    **dict.fromkeys(("list_files.name", "LoopIterator.name", "tile_batch.name", "BasicDecoder.name"), _NO_OPERATION),
    "DataIterator.output_classes": "All leaves are tensors.",
    **{f"{kind}Attention.{one}": "The memory says it." for kind in ("Bahdanau", "Luong") for one in ("dtype", "name")},
    **{f"AttentionMechanism.{one}": INTERFACE for one in ("state", "previous_alignments")},
    **dict.fromkeys((f"{kind}.{one}" for kind, unread in _HELPERS.items() for one in unread.split()), INTERFACE),
    # layers
    **dict.fromkeys([f"Layer.{it}" for it in ("inputs", "input_shape", "args", "kwargs")], INTERFACE),
    **dict.fromkeys(["filters.channels", "flatten.given", "softmax.given", "Given.name", "Given.theirs"], INTERFACE),
    # private tools
    "_plain.args": _OWN_TOOLS,
    "_plain.kwargs": _OWN_TOOLS,
    "make_decorator.decorator_name": _OWN_TOOLS,
    "make_decorator.decorator_doc": _OWN_TOOLS,
    "make_decorator.decorator_argspec": _OWN_TOOLS,
    "doc_string_modules": _OWN_TOOLS,
    "remove_undocumented.module_name": _OWN_TOOLS,
    "remove_undocumented.allowed_exception_list": _OWN_TOOLS,
    "constant_value.partial": "A value is known as a whole, or not at all.",
    # texts
    "unused_y": "TensorFlow ignores it, too.",
    # samplers
    "num_true": "The labels say how many true classes a sample has.",
    "all_candidate_sampler.unique": "All classes come once, either way.",
    "all_candidate_sampler.seed": "Nothing is drawn.",
    "compute_accidental_hits.seed": "Nothing is drawn.",
    # distributions
    "Distribution.name": "The operations have names of their own.",
    "allow_nan_stats": "A number that is not defined is NaN.",
    "_gumbel.d": INTERFACE,
    "Distribution.graph_parents": "A graph knows the inputs of its operations.",
    # columns of features
    **{f"{kind}Column.{one}": INTERFACE for kind in _COLUMNS for one in ("collections", "trainable")},
    "DenseColumn.combiner": INTERFACE,
    "logits.mode": INTERFACE,
    "embedding_column.tensor_name_in_ckpt": "It goes with ckpt_to_load_from, which is refused.",
    # TPUs and conversions
    **dict.fromkeys(
        [
            *(f"CrossShardOptimizer.{name}" for name in ("group_assignment", "reduction")),
            *(f"TPUEstimator.{name}" for name in ("batch_axis", "eval_on_tpu", "export_to_cpu", "export_to_tpu")),
            "cross_replica_sum.group_assignment",
        ],
        "There is no TPU: one process computes all.",
    ),
    "feed_function_for_partial_run": "Partial runs are refused by name.",
    "register_tensor_conversion_function.priority": "A class has one function, the last one.",
    # sessions with hooks
    "ready_for_local_init_op": "A local initializer that reads a variable without a value raises an error itself.",
    **dict.fromkeys(["max_wait_secs", "recovery_wait_secs", "wait_for_checkpoint"], _ONE_PROCESS),
    **dict.fromkeys(["run_context", "run_values", "coord", "results", "passed", "global_step_value"], INTERFACE),
    **dict.fromkeys(["StepHook.step", *(f"{name}.session" for name in _HOOKS)], INTERFACE),
    # queues, k-means and linear operators
    "KMeans.moved": INTERFACE,
    "KMeansClustering.feature_columns": "The columns are the features in the order of their names.",
    **dict.fromkeys(
        [f"{name}.validate_args" for name in ("_lu_inverse", "_rank", "_reconstructed", "_solved")],
        "Shapes and dtypes are always checked, and values never.",
    ),
    "eigh_tridiagonal.tol": "Eigenvalues are as precise as the dtype.",
    "tridiagonal_solve.partial_pivoting": "Rows are always exchanged.",
    "LinearOperator.name": "An operator's matrix has the name.",
    # optimizers
    "MovingAverageOptimizer.sequential_update": "The averages come after the step in any case.",
    "CustomStepMixin.var_list": INTERFACE,
    "CustomStepMixin.colocate_with": "A variable is on the device of the values that it meets.",
    "CustomStepMixin.graph": "An optimizer serves one graph.",
    # loops and functions
    "vectorized_map.fallback_to_while_loop": "An op that has no rule for batches is computed slice by slice.",
    "vectorized_map.warn": "There is nothing to warn of: the results are the same.",
    "OwnedIterator.name": _NO_OPERATION,
    "OwnedIterator.number": INTERFACE,
    "set_loop_options.maximum_iterations": "A function that is converted has none of these calls.",
    "set_loop_options.shape_invariants": "A function that is converted has none of these calls.",
    "set_verbosity.alsologtostdout": "Nothing is logged.",
    "set_verbosity.level": "Nothing is logged.",
    "to_code.recursive": "The functions that it calls are always converted when they are called.",
    "to_graph.recursive": "The functions that it calls are always converted when they are called.",
    "tf_function.jit_compile": "The engine compiles the function, as it always does.",
    "tf_function.reduce_retracing": "A RetracingWarning reports too many traces.",
    "tf_function.experimental_implements": "There are no other implementations to choose from.",
    "tf_function.experimental_attributes": "Functions have no attributes.",
    "tf_function.experimental_relax_shapes": "A RetracingWarning reports too many traces.",
    "tf_function.experimental_compile": "The engine compiles the function, as it always does.",
    "tf_function.experimental_follow_type_hints": "Arguments are taken as they are given.",
    "TensorArray.clear_after_read": "A tensor may be read any number of times.",
    "TensorArray.colocate_with_first_write_call": _HINT,
    "TensorArray.tensor_array_name": _NO_OPERATION,
    "TensorArray.name": _NO_OPERATION,
    # graphs
    "enable_eager_execution.device_policy": "Values go where the operation is computed.",
    "enable_eager_execution.execution_mode": "Operations are computed in order.",
    "Adapter.value": "The layer of TensorFlow knows whether it is built.",
    "KerasWeight.value": "The weight of Keras has the constraint.",
    "WrappedFunction.name": _NO_OPERATION,
    "WrappedFunction.input_signature": "The tensors of the graph say their shapes and dtypes.",
    "import_graph_def.op_dict": "TensorFlow ignores it, too.",
    "import_graph_def.producer_op_list": "Nodes say their attributes, or Dovetail knows the defaults.",
    "select_ops.restrict_ts_regex": "It is of select_ts, which has the same arguments.",
    "select_ts.restrict_ops_regex": "It is of select_ops, which has the same arguments.",
    # numbers
    **dict.fromkeys((f"most.{one}" for one in ("recall_target", "aggregate_to_topk")), _EXACT),
    "most.reduction_input_size_override": _EXACT,
    "ctc_loss.unique": _HINT,
    "top_k.sorted": "The largest come first, which any order allows.",
    "argsort.stable": "The order is always stable.",
    "_moments.shift": _HINT,
    "to_dense.validate_indices": "Indices are not checked: elements with the same index add up.",
    "Generator.name": _NO_OPERATION,
    "array.copy": "A tensor cannot be changed, so the value of a copy is its own value.",
    "enable_numpy_behavior.prefer_float32": "The call warns that it changes nothing.",
    "enable_numpy_behavior.dtype_conversion_mode": "The call warns that it changes nothing.",
    # profiles
    "Timeline.graph": "The names of a run are those of its graph.",
    "Timeline.show_dataflow": _ALL_SHOWN,
    "Timeline.show_memory": _ALL_SHOWN,
    "Timeline.op_time": _ALL_SHOWN,
    "Trace.kwargs": "The name of a span is written when it begins.",
    "trace_on.graph": _NO_GRAPH,
    "trace_export.name": _NO_GRAPH,
    "trace_export.step": _NO_GRAPH,
    "enable_check_numerics.stack_height_limit": _LIMIT,
    "enable_check_numerics.path_length_limit": _LIMIT,
    # files
    "Saver.sharded": _ONE_FILE,
    "Saver.name": _NO_OPERATION,
    "Saver.restore_sequentially": _HINT,
    "Saver.write_version": _ONE_FILE,
    "Saver.save_relative_paths": "The file `checkpoint` always has relative paths.",
    "Saver.filename": "`save` and `restore` take the path.",
    "load_into_session.saver_kwargs": "The values are read without a saver.",
    "SavedModelBuilder.saver": "The builder writes all variables of the graph by their names.",
    "clear_extraneous_savers": "A graph of Dovetail has no operations of savers.",
    "strip_default_attrs": "Attributes with their default values are never written.",
    "save_debug_info": "A meta graph has the lines of the program's operations in any case.",
    "create_file_writer.name": _NO_OPERATION,
    "write.name": _NO_OPERATION,
    "flush.name": _NO_OPERATION,
    "parse_single_sequence_example.example_name": _ONLY_IN_ERRORS,
    "example_names": _ONLY_IN_ERRORS,
    "_summary_scope.values": "The scope is in the graph that is being built.",
    "devices": "The engine and its device are chosen outside of the test.",
    "is_gpu_available.cuda_only": "All GPUs of the engine count.",
    "is_gpu_available.min_cuda_compute_capability": "All GPUs of the engine count.",
    "StopAfterNEvalsHook.log_progress": "No progress is logged.",
    "TFRecordOptions.ignored": "Sizes of buffers and the like, which change no record.",
    "remove_checkpoint.checkpoint_format_version": "All files of the checkpoint are deleted.",
    "sparse_to_dense.validate_indices": "Indices may come in any order.",
    "all_model_checkpoint_timestamps": _ONLY_PATHS,
    "last_preserved_timestamp": _ONLY_PATHS,
    # contrib: forests, monitors, experiments, beams and columns
    **dict.fromkeys(
        ["RandomForestGraphs.num_trainers", "RandomForestGraphs.trainer_id"],
        _ONE_PROCESS,
    ),
    **dict.fromkeys([f"TensorForestEstimator.{it}" for it in ("num_trainers", "trainer_id")], _ONE_PROCESS),
    **dict.fromkeys([f"RandomForestGraphs.{it}" for it in ("features", "labels")], INTERFACE),
    "RandomForestGraphs.device_assigner": "The trees of a forest are in one variable.",
    "RandomForestGraphs.training": "A graph has what its methods were called for.",
    "TensorForestEstimator.device_assigner": "The trees of a forest are in one variable.",
    "TensorForestEstimator.local_eval": "The trees of a forest are in one variable.",
    "TensorForestEstimator.report_feature_importances": "RandomForestGraphs.feature_importances tells them.",
    "TensorForestEstimator.version": "TensorFlow ignores it, too.",
    **dict.fromkeys(
        [f"{kind}.{it}" for kind in ("BaseMonitor", "EveryN") for it in ("step", "session")]
        + ["BaseMonitor.output", "EveryN.outputs", "StopAtStep.output"]
        + [f"{kind}.step" for kind in ("PrintTensor", "CaptureVariable", "NanLoss")],
        INTERFACE,
    ),
    **dict.fromkeys(
        [
            "Experiment.local_eval_frequency",
            "Experiment.min_eval_frequency",
            "Experiment.eval_delay_secs",
            "Experiment.continuous_eval_throttle_secs",
        ],
        "An experiment is evaluated once, after its training.",
    ),
    "Experiment.delay_workers_by_global_step": _ONE_PROCESS,
    "BeamSearchDecoder.reorder_tensor_arrays": "Tensor arrays of a cell are refused.",
    **dict.fromkeys([f"BeamSearchDecoder.{it}" for it in ("time", "name", "sequence_lengths")], INTERFACE),
    "sparse_column_with_integerized_feature.dtype": "Ids are integers of any dtype.",
    "npairs_loss.print_losses": "tf.print shows the loss.",
    **dict.fromkeys([f"LatestExporter.{it}" for it in ("eval_result", "is_the_final_export")], INTERFACE),
    "BestExporter.event_file_pattern": "The best evaluation is that of this process.",
    # pictures, files and settings
    **dict.fromkeys(
        [f"decode_and_crop_jpeg.{it}" for it in ("fancy_upscaling", "try_recover_truncated", "acceptable_fraction")]
        + ["decode_and_crop_jpeg.dct_method", "adjust_jpeg_quality.dct_method"],
        "Pictures are decoded in one way.",
    ),
    "readahead_file_path.readahead": _HINT,
    "_set.args": "The setting changes how TensorFlow computes, and no result.",
    "_set.kwargs": "The setting changes how TensorFlow computes, and no result.",
}
_AS_ASKED = "Items are made one after the other, when they are asked for."
# The parameters of Keras 2, K, and Keras on Dovetail, by package.
OTHERS = {
    "dovetail.compat.keras2": {
        "_as_it_is.data_format": INTERFACE,
        "_add_update.inputs": "Updates belong to the call in which they are made.",
        "_run_own_updates.options": INTERFACE,
        "_Continued.index": INTERFACE,
        "Scalar.values": INTERFACE,
        "BaseWrapper.params": "scikit-learn asks for deep parameters, which are the same.",
        **dict.fromkeys(
            (f"GeneratorEnqueuer.{name}" for name in ("max_queue_size", "options", "timeout", "workers")), _AS_ASKED
        ),
        "GeneratorEnqueuer.use_multiprocessing": _AS_ASKED,
        "OrderedEnqueuer.use_multiprocessing": _AS_ASKED,
        "HDF5Matrix.copy": "The array is new in any case.",
        "_add_loss.inputs": "Tensors know their inputs.",
        "initialize.dim_ordering": "Keras 1 passes it to initializers of kernels, whose shape has the order.",
        "_update_step.learning_rate": "The class reads its own rate.",
        "_own_step.apply_state": "Keras' step computes its own numbers.",
        "call.aggregation": "Gradients of replicas are joined before.",
        "_of_the_given_masks.inputs": INTERFACE,
        "Recurrent.inputs": INTERFACE,
        "Recurrent.training": INTERFACE,
        **dict.fromkeys(
            (f"time_distributed_dense.{name}" for name in ("input_dim", "output_dim", "timesteps")),
            "The tensor and the weights have their sizes.",
        ),
        **dict.fromkeys(
            (
                f"Node.{name}"
                for name in ["input_tensors", "masks_and_shapes", "more", "node_indices", "tensor_indices"]
            ),
            "Keras' own input layer makes the node, and knows them.",
        ),
        "_save.save_format": "The name of the file decides: HDF5, or an archive of Keras 3.",
    },
    "dovetail.backend": {
        "constant.name": "A constant has no name before a graph uses it.",
        "atrous_conv2d.image_shape": "The images have their shape.",
        "atrous_conv2d.filter_shape": "The kernel has its shape.",
        "deconv2d.image_shape": "The images have their shape.",
        "deconv2d.filter_shape": "The kernel has its shape.",
        "_Sparse.name": "A sparse tensor is several tensors.",
        "manual_variable_initialization.value": "A variable has its first value from the start.",
    },
    "keras_dovetail": {
        "Call.arrays": INTERFACE,
        "Call.specs": INTERFACE,
        **dict.fromkeys(
            (f"call.{name}" for name in ("inputs", "function", "dtypes", "shapes")),
            "The op has a type rule and a rule of an engine, which read them.",
        ),
        "Backup.logs": INTERFACE,
        "distribute_data_input.batch_dim_name": INTERFACE,
        "Interruption.logs": INTERFACE,
        "Watch.epoch": INTERFACE,
        "Watch.logs": INTERFACE,
        "_Computing.values": INTERFACE,
        "from_config.custom_objects": "The layer has no objects of the program.",
        "from_config.safe_mode": "Nothing that a SavedModel says is executed.",
        "SavedModelExportArchive.kwargs": "Settings of jax2tf, which has no part in an export.",
        "SavedModelExportArchive.options": "Files are written by this process, where the path says.",
        "_Holder.initializer": INTERFACE,
        "_Holder.graph": INTERFACE,
        "_Holder.name": INTERFACE,
        "_Steps.key": INTERFACE,
        "accept.module": INTERFACE,
        "cudnn_ok.args": INTERFACE,
        "cudnn_ok.kwargs": INTERFACE,
        "remains.a": INTERFACE,
        "top_k.is_stable": "Of equal elements the first always come first.",
        "top_k.sorted": "The largest come first, which any order allows.",
        "call.sorted": _HINT,
        "unique.sorted": "The values are always sorted.",
        "isin.assume_unique": _HINT,
        "argpartition.kth": "All are sorted, which any partition allows.",
        "einsum.kwargs": _HINT,
        "dot_product_attention.attn_logits_soft_cap": "Keras refuses it on all backends but jax on TPUs.",
    },
}
