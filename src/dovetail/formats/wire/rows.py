"""The messages of TensorFlow, TensorBoard, Keras and ONNX, as rows.

A row is the name of a message, then its fields: number, name and type.  `*` marks a repeated field, `**` one of ONNX
whose numbers are packed, `key:value` a map, and `|` the group of fields of which at most one is set.  A row `enum` has
numbers and names.  `A.B` lies inside of `A`.
Fields that are in no row stay in a message that is read, and are written again.

Sources: https://github.com/tensorflow/tensorflow (`core/framework`, `core/protobuf`, `core/example`, `core/util`),
https://github.com/keras-team/tf-keras (`tf_keras/protobuf`) and https://github.com/onnx/onnx (`onnx/onnx.proto`).
"""

GOOGLE = """
Any: 1 type_url string; 2 value bytes
BoolValue: 1 value bool
"""

# the dtypes of variables by reference have numbers that are greater by 100
_NAMES = """FLOAT DOUBLE INT32 UINT8 INT16 INT8 STRING COMPLEX64 INT64 BOOL QINT8 QUINT8 QINT32 BFLOAT16 QINT16 QUINT16
    UINT16 COMPLEX128 HALF RESOURCE VARIANT UINT32 UINT64 FLOAT8_E5M2 FLOAT8_E4M3FN FLOAT8_E4M3FNUZ FLOAT8_E4M3B11FNUZ
    FLOAT8_E5M2FNUZ INT4 UINT4 INT2 UINT2 FLOAT4_E2M1FN"""
_DTYPES = "; ".join(f"{n} DT_{name}; {n + 100} DT_{name}_REF" for n, name in enumerate(_NAMES.split(), 1))

TENSORFLOW = f"""
GraphDef: 1 node NodeDef*; 4 versions VersionDef; 3 version int32; 2 library FunctionDefLibrary;
    5 debug_info GraphDebugInfo
NodeDef: 1 name string; 2 op string; 3 input string*; 4 device string; 5 attr string:AttrValue;
    6 experimental_debug_info NodeDef.ExperimentalDebugInfo; 7 experimental_type FullTypeDef
NodeDef.ExperimentalDebugInfo: 1 original_node_names string*; 2 original_func_names string*
FullTypeDef: 1 type_id FullTypeId; 2 args FullTypeDef*; 3 s string|attr; 4 i int64|attr
enum FullTypeId: 0 TFT_UNSET; 1 TFT_VAR; 2 TFT_ANY; 3 TFT_PRODUCT; 4 TFT_NAMED; 20 TFT_FOR_EACH; 100 TFT_CALLABLE;
    1000 TFT_TENSOR; 1001 TFT_ARRAY; 1002 TFT_OPTIONAL; 1003 TFT_LITERAL; 1004 TFT_ENCODED; 1005 TFT_SHAPE_TENSOR;
    200 TFT_BOOL; 201 TFT_UINT8; 202 TFT_UINT16; 203 TFT_UINT32; 204 TFT_UINT64; 205 TFT_INT8; 206 TFT_INT16;
    207 TFT_INT32; 208 TFT_INT64; 209 TFT_HALF; 210 TFT_FLOAT; 211 TFT_DOUBLE; 215 TFT_BFLOAT16; 212 TFT_COMPLEX64;
    213 TFT_COMPLEX128; 214 TFT_STRING; 10102 TFT_DATASET; 10103 TFT_RAGGED; 10104 TFT_ITERATOR; 10202 TFT_MUTEX_LOCK;
    10203 TFT_LEGACY_VARIANT
GraphDebugInfo: 1 files string*; 4 frames_by_id fixed64:GraphDebugInfo.FileLineCol;
    6 traces_by_id fixed64:GraphDebugInfo.StackTrace; 2 traces string:GraphDebugInfo.StackTrace;
    5 name_to_trace_id string:fixed64
GraphDebugInfo.FileLineCol: 1 file_index int32; 2 line int32; 3 col int32; 4 func string; 5 code string
GraphDebugInfo.StackTrace: 1 file_line_cols GraphDebugInfo.FileLineCol*; 2 frame_id fixed64*
AttrValue: 2 s bytes|value; 3 i int64|value; 4 f float|value; 5 b bool|value; 6 type DataType|value;
    7 shape TensorShapeProto|value; 8 tensor TensorProto|value; 1 list AttrValue.ListValue|value;
    10 func NameAttrList|value; 9 placeholder string|value
enum DataType: 0 DT_INVALID; {_DTYPES}
TensorShapeProto: 2 dim TensorShapeProto.Dim*; 3 unknown_rank bool
TensorShapeProto.Dim: 1 size int64; 2 name string
TensorProto: 1 dtype DataType; 2 tensor_shape TensorShapeProto; 3 version_number int32; 4 tensor_content bytes;
    13 half_val int32*; 5 float_val float*; 6 double_val double*; 7 int_val int32*; 8 string_val bytes*;
    9 scomplex_val float*; 10 int64_val int64*; 11 bool_val bool*; 12 dcomplex_val double*;
    14 resource_handle_val ResourceHandleProto*; 15 variant_val VariantTensorDataProto*; 16 uint32_val uint32*;
    17 uint64_val uint64*; 18 float8_val bytes
VariantTensorDataProto: 1 type_name string; 2 metadata bytes; 3 tensors TensorProto*
ResourceHandleProto: 1 device string; 2 container string; 3 name string; 4 hash_code uint64; 5 maybe_type_name string;
    6 dtypes_and_shapes ResourceHandleProto.DtypeAndShape*
ResourceHandleProto.DtypeAndShape: 1 dtype DataType; 2 shape TensorShapeProto
AttrValue.ListValue: 2 s bytes*; 3 i int64*; 4 f float*; 5 b bool*; 6 type DataType*; 7 shape TensorShapeProto*;
    8 tensor TensorProto*; 9 func NameAttrList*
NameAttrList: 1 name string; 2 attr string:AttrValue
VersionDef: 1 producer int32; 2 min_consumer int32; 3 bad_consumers int32*
FunctionDefLibrary: 1 function FunctionDef*; 2 gradient GradientDef*; 3 registered_gradients RegisteredGradient*
RegisteredGradient: 1 gradient_func string; 2 registered_op_type string
FunctionDef: 1 signature OpDef; 5 attr string:AttrValue; 7 arg_attr uint32:FunctionDef.ArgAttrs;
    8 resource_arg_unique_id uint32:uint32; 3 node_def NodeDef*; 4 ret string:string; 6 control_ret string:string
OpDef: 1 name string; 2 input_arg OpDef.ArgDef*; 3 output_arg OpDef.ArgDef*; 20 control_output string*;
    4 attr OpDef.AttrDef*; 8 deprecation OpDeprecation; 5 summary string; 6 description string;
    18 is_commutative bool; 16 is_aggregate bool; 17 is_stateful bool; 19 allows_uninitialized_input bool;
    21 is_distributed_communication bool
OpDeprecation: 1 version int32; 2 explanation string
OpDef.ArgDef: 1 name string; 2 description string; 3 type DataType; 4 type_attr string; 5 number_attr string;
    6 type_list_attr string; 7 handle_data ResourceHandleProto.DtypeAndShape*; 16 is_ref bool;
    17 experimental_full_type FullTypeDef
OpDef.AttrDef: 1 name string; 2 type string; 3 default_value AttrValue; 4 description string; 5 has_minimum bool;
    6 minimum int64; 7 allowed_values AttrValue
FunctionDef.ArgAttrs: 1 attr string:AttrValue
GradientDef: 1 function_name string; 2 gradient_func string
MetaGraphDef: 1 meta_info_def MetaGraphDef.MetaInfoDef; 2 graph_def GraphDef; 3 saver_def SaverDef;
    4 collection_def string:CollectionDef; 5 signature_def string:SignatureDef; 6 asset_file_def AssetFileDef*;
    7 object_graph_def SavedObjectGraph
MetaGraphDef.MetaInfoDef: 1 meta_graph_version string; 2 stripped_op_list OpList; 3 any_info google.protobuf.Any;
    4 tags string*; 5 tensorflow_version string; 6 tensorflow_git_version string; 7 stripped_default_attrs bool;
    8 function_aliases string:string
OpList: 1 op OpDef*
ConfigProto: 1 device_count string:int32; 2 intra_op_parallelism_threads int32; 5 inter_op_parallelism_threads int32;
    9 use_per_session_threads bool; 12 session_inter_op_thread_pool ThreadPoolOptionProto*; 3 placement_period int32;
    4 device_filters string*; 6 gpu_options GPUOptions; 18 pluggable_device_options GPUOptions;
    7 allow_soft_placement bool; 8 log_device_placement bool; 10 graph_options GraphOptions;
    11 operation_timeout_in_ms int64; 15 isolate_session_state bool; 17 share_cluster_devices_in_session bool;
    16 experimental ConfigProto.Experimental
ConfigProto.Experimental: 1 collective_group_leader string; 3 executor_type string; 4 recv_buf_max_chunk int32;
    5 use_numa_affinity bool; 6 collective_deterministic_sequential_execution bool; 7 collective_nccl bool;
    8 share_session_state_in_clusterspec_propagation bool; 9 disable_thread_spinning bool;
    10 share_cluster_devices_in_session bool; 12 optimize_for_static_graph bool; 13 enable_mlir_bridge bool;
    16 enable_mlir_graph_optimization bool; 14 disable_output_partition_graphs bool;
    15 xla_fusion_autotuner_thresh int64; 18 use_tfrt bool
ThreadPoolOptionProto: 1 num_threads int32; 2 global_name string
GPUOptions: 1 per_process_gpu_memory_fraction double; 4 allow_growth bool; 2 allocator_type string;
    3 deferred_deletion_bytes int64; 5 visible_device_list string; 6 polling_active_delay_usecs int32;
    7 polling_inactive_delay_msecs int32; 8 force_gpu_compatible bool; 9 experimental GPUOptions.Experimental
GPUOptions.Experimental: 2 use_unified_memory bool; 3 num_dev_to_dev_copy_streams int32;
    4 collective_ring_order string; 5 timestamped_allocator bool; 7 kernel_tracker_max_interval int32;
    8 kernel_tracker_max_bytes int32; 9 kernel_tracker_max_pending int32; 10 internal_fragmentation_fraction double;
    11 use_cuda_malloc_async bool; 12 disallow_retry_on_allocation_failure bool
GraphOptions: 2 enable_recv_scheduling bool; 3 optimizer_options OptimizerOptions; 4 build_cost_model int64;
    9 build_cost_model_after int64; 5 infer_shapes bool; 6 place_pruned_graph bool; 7 enable_bfloat16_sendrecv bool;
    8 timeline_step int32; 10 rewrite_options RewriterConfig
OptimizerOptions: 1 do_common_subexpression_elimination bool; 2 do_constant_folding bool;
    6 max_folded_constant_in_bytes int64; 4 do_function_inlining bool; 3 opt_level OptimizerOptions.Level;
    5 global_jit_level OptimizerOptions.GlobalJitLevel; 7 cpu_global_jit bool
enum OptimizerOptions.Level: 0 L1; -1 L0
enum OptimizerOptions.GlobalJitLevel: 0 DEFAULT; -1 OFF; 1 ON_1; 2 ON_2
RewriterConfig: 1 layout_optimizer RewriterConfig.Toggle; 3 constant_folding RewriterConfig.Toggle;
    13 shape_optimization RewriterConfig.Toggle; 14 remapping RewriterConfig.Toggle;
    7 arithmetic_optimization RewriterConfig.Toggle; 8 dependency_optimization RewriterConfig.Toggle;
    9 loop_optimization RewriterConfig.Toggle; 10 function_optimization RewriterConfig.Toggle;
    11 debug_stripper RewriterConfig.Toggle; 2 disable_model_pruning bool;
    15 scoped_allocator_optimization RewriterConfig.Toggle; 18 pin_to_host_optimization RewriterConfig.Toggle;
    22 implementation_selector RewriterConfig.Toggle; 23 auto_mixed_precision RewriterConfig.Toggle;
    19 disable_meta_optimizer bool; 12 meta_optimizer_iterations RewriterConfig.NumIterationsType;
    17 min_graph_nodes int32; 4 memory_optimization RewriterConfig.MemOptType; 100 optimizers string*
enum RewriterConfig.Toggle: 0 DEFAULT; 1 ON; 2 OFF; 3 AGGRESSIVE; 4 EXPERIMENTAL_MLIR; 5 EXPERIMENTAL_BOTH
enum RewriterConfig.NumIterationsType: 0 DEFAULT_NUM_ITERS; 1 ONE; 2 TWO
enum RewriterConfig.MemOptType: 0 DEFAULT_MEM_OPT; 1 NO_MEM_OPT; 2 MANUAL; 4 SWAPPING_HEURISTICS;
    5 RECOMPUTATION_HEURISTICS; 6 SCHEDULING_HEURISTICS; 3 HEURISTICS
RunOptions: 1 trace_level RunOptions.TraceLevel; 2 timeout_in_ms int64; 3 inter_op_thread_pool int32;
    5 output_partition_graphs bool; 7 report_tensor_allocations_upon_oom bool; 8 experimental RunOptions.Experimental
enum RunOptions.TraceLevel: 0 NO_TRACE; 1 SOFTWARE_TRACE; 2 HARDWARE_TRACE; 3 FULL_TRACE
RunOptions.Experimental: 1 collective_graph_key int64; 2 use_run_handler_pool bool
SaverDef: 1 filename_tensor_name string; 2 save_tensor_name string; 3 restore_op_name string; 4 max_to_keep int32;
    5 sharded bool; 6 keep_checkpoint_every_n_hours float; 7 version SaverDef.CheckpointFormatVersion
enum SaverDef.CheckpointFormatVersion: 0 LEGACY; 1 V1; 2 V2
VariableDef: 1 variable_name string; 6 initial_value_name string; 2 initializer_name string; 3 snapshot_name string;
    4 save_slice_info_def SaveSliceInfoDef; 5 is_resource bool; 7 trainable bool;
    8 synchronization VariableSynchronization; 9 aggregation VariableAggregation
SaveSliceInfoDef: 1 full_name string; 2 full_shape int64*; 3 var_offset int64*; 4 var_shape int64*
CollectionDef: 1 node_list CollectionDef.NodeList|kind; 2 bytes_list CollectionDef.BytesList|kind;
    3 int64_list CollectionDef.Int64List|kind; 4 float_list CollectionDef.FloatList|kind;
    5 any_list CollectionDef.AnyList|kind
CollectionDef.NodeList: 1 value string*
CollectionDef.BytesList: 1 value bytes*
CollectionDef.Int64List: 1 value int64*
CollectionDef.FloatList: 1 value float*
CollectionDef.AnyList: 1 value google.protobuf.Any*
SignatureDef: 1 inputs string:TensorInfo; 2 outputs string:TensorInfo; 3 method_name string;
    4 defaults string:TensorProto
TensorInfo: 1 name string|encoding; 4 coo_sparse TensorInfo.CooSparse|encoding;
    5 composite_tensor TensorInfo.CompositeTensor|encoding; 2 dtype DataType; 3 tensor_shape TensorShapeProto
TensorInfo.CooSparse: 1 values_tensor_name string; 2 indices_tensor_name string; 3 dense_shape_tensor_name string
TensorInfo.CompositeTensor: 1 type_spec TypeSpecProto; 2 components TensorInfo*
TypeSpecProto: 1 type_spec_class TypeSpecProto.TypeSpecClass; 2 type_state StructuredValue;
    3 type_spec_class_name string; 4 num_flat_components int32
enum TypeSpecProto.TypeSpecClass: 0 UNKNOWN; 1 SPARSE_TENSOR_SPEC; 2 INDEXED_SLICES_SPEC; 3 RAGGED_TENSOR_SPEC;
    4 TENSOR_ARRAY_SPEC; 5 DATA_DATASET_SPEC; 6 DATA_ITERATOR_SPEC; 7 OPTIONAL_SPEC; 8 PER_REPLICA_SPEC;
    9 VARIABLE_SPEC; 10 ROW_PARTITION_SPEC; 12 REGISTERED_TYPE_SPEC; 13 EXTENSION_TYPE_SPEC
StructuredValue: 1 none_value NoneValue|kind; 11 float64_value double|kind; 12 int64_value sint64|kind;
    13 string_value string|kind; 14 bool_value bool|kind; 31 tensor_shape_value TensorShapeProto|kind;
    32 tensor_dtype_value DataType|kind; 33 tensor_spec_value TensorSpecProto|kind;
    34 type_spec_value TypeSpecProto|kind; 35 bounded_tensor_spec_value BoundedTensorSpecProto|kind;
    51 list_value ListValue|kind; 52 tuple_value TupleValue|kind; 53 dict_value DictValue|kind;
    54 named_tuple_value NamedTupleValue|kind; 55 tensor_value TensorProto|kind; 56 numpy_value TensorProto|kind
NoneValue:
TensorSpecProto: 1 name string; 2 shape TensorShapeProto; 3 dtype DataType
BoundedTensorSpecProto: 1 name string; 2 shape TensorShapeProto; 3 dtype DataType; 4 minimum TensorProto;
    5 maximum TensorProto
ListValue: 1 values StructuredValue*
TupleValue: 1 values StructuredValue*
DictValue: 1 fields string:StructuredValue
NamedTupleValue: 1 name string; 2 values PairValue*
PairValue: 1 key string; 2 value StructuredValue
AssetFileDef: 1 tensor_info TensorInfo; 2 filename string
SavedObjectGraph: 1 nodes SavedObject*; 2 concrete_functions string:SavedConcreteFunction
SavedObject: 1 children TrackableObjectGraph.TrackableObject.ObjectReference*;
    15 dependencies TrackableObjectGraph.TrackableObject.ObjectReference*;
    3 slot_variables TrackableObjectGraph.TrackableObject.SlotVariableReference*; 4 user_object SavedUserObject|kind;
    5 asset SavedAsset|kind; 6 function SavedFunction|kind; 7 variable SavedVariable|kind;
    8 bare_concrete_function SavedBareConcreteFunction|kind; 9 constant SavedConstant|kind;
    10 resource SavedResource|kind; 12 captured_tensor CapturedTensor|kind; 11 saveable_objects string:SaveableObject;
    13 registered_name string; 14 serialized_user_proto google.protobuf.Any; 16 registered_saver string
TrackableObjectGraph.TrackableObject.ObjectReference: 1 node_id int32; 2 local_name string
TrackableObjectGraph.TrackableObject.SlotVariableReference: 1 original_variable_node_id int32; 2 slot_name string;
    3 slot_variable_node_id int32
SavedUserObject: 1 identifier string; 2 version VersionDef; 3 metadata string
SavedAsset: 1 asset_file_def_index int32
SavedFunction: 1 concrete_functions string*; 2 function_spec FunctionSpec
FunctionSpec: 1 fullargspec StructuredValue; 2 is_method bool; 5 input_signature StructuredValue;
    6 jit_compile FunctionSpec.JitCompile
enum FunctionSpec.JitCompile: 0 DEFAULT; 1 ON; 2 OFF
SavedVariable: 1 dtype DataType; 2 shape TensorShapeProto; 3 trainable bool;
    4 synchronization VariableSynchronization; 5 aggregation VariableAggregation; 6 name string; 7 device string;
    8 experimental_distributed_variable_components SavedVariable*
enum VariableSynchronization: 0 VARIABLE_SYNCHRONIZATION_AUTO; 1 VARIABLE_SYNCHRONIZATION_NONE;
    2 VARIABLE_SYNCHRONIZATION_ON_WRITE; 3 VARIABLE_SYNCHRONIZATION_ON_READ
enum VariableAggregation: 0 VARIABLE_AGGREGATION_NONE; 1 VARIABLE_AGGREGATION_SUM; 2 VARIABLE_AGGREGATION_MEAN;
    3 VARIABLE_AGGREGATION_ONLY_FIRST_REPLICA
SavedBareConcreteFunction: 1 concrete_function_name string; 2 argument_keywords string*;
    3 allowed_positional_arguments int64; 4 function_spec FunctionSpec
SavedConstant: 1 operation string
SavedResource: 1 device string
CapturedTensor: 1 name string; 2 concrete_function string
SaveableObject: 2 save_function int32; 3 restore_function int32
SavedConcreteFunction: 2 bound_inputs int32*; 3 canonicalized_input_signature StructuredValue;
    4 output_signature StructuredValue
Event: 1 wall_time double; 2 step int64; 3 file_version string|what; 4 graph_def bytes|what; 5 summary Summary|what;
    6 log_message LogMessage|what; 7 session_log SessionLog|what; 8 tagged_run_metadata TaggedRunMetadata|what;
    9 meta_graph_def bytes|what; 10 source_metadata SourceMetadata
Summary: 1 value Summary.Value*
Summary.Value: 7 node_name string; 1 tag string; 9 metadata SummaryMetadata; 2 simple_value float|value;
    3 obsolete_old_style_histogram bytes|value; 4 image Summary.Image|value; 5 histo HistogramProto|value;
    6 audio Summary.Audio|value; 8 tensor TensorProto|value
SummaryMetadata: 1 plugin_data SummaryMetadata.PluginData; 2 display_name string; 3 summary_description string;
    4 data_class DataClass
SummaryMetadata.PluginData: 1 plugin_name string; 2 content bytes
enum DataClass: 0 DATA_CLASS_UNKNOWN; 1 DATA_CLASS_SCALAR; 2 DATA_CLASS_TENSOR; 3 DATA_CLASS_BLOB_SEQUENCE
Summary.Image: 1 height int32; 2 width int32; 3 colorspace int32; 4 encoded_image_string bytes
HistogramProto: 1 min double; 2 max double; 3 num double; 4 sum double; 5 sum_squares double; 6 bucket_limit double*;
    7 bucket double*
Summary.Audio: 1 sample_rate float; 2 num_channels int64; 3 length_frames int64; 4 encoded_audio_string bytes;
    5 content_type string
LogMessage: 1 level LogMessage.Level; 2 message string
enum LogMessage.Level: 0 UNKNOWN; 10 DEBUGGING; 20 INFO; 30 WARN; 40 ERROR; 50 FATAL
SessionLog: 1 status SessionLog.SessionStatus; 2 checkpoint_path string; 3 msg string
enum SessionLog.SessionStatus: 0 STATUS_UNSPECIFIED; 1 START; 2 STOP; 3 CHECKPOINT
TaggedRunMetadata: 1 tag string; 2 run_metadata bytes
RunMetadata: 1 step_stats StepStats
StepStats: 1 dev_stats DeviceStepStats*
DeviceStepStats: 1 device string; 2 node_stats NodeExecStats*
NodeExecStats: 1 node_name string; 2 all_start_micros int64; 3 op_start_rel_micros int64; 4 op_end_rel_micros int64;
    5 all_end_rel_micros int64; 8 timeline_label string; 9 scheduled_micros int64; 10 thread_id uint32
ProjectorConfig: 1 model_checkpoint_path string; 2 embeddings EmbeddingInfo*; 3 model_checkpoint_dir string
EmbeddingInfo: 1 tensor_name string; 2 metadata_path string; 3 bookmarks_path string; 4 tensor_shape uint32*;
    5 sprite SpriteMetadata; 6 tensor_path string
SpriteMetadata: 1 image_path string; 2 single_image_dim uint32*
SourceMetadata: 1 writer string
TrackableObjectGraph: 1 nodes TrackableObjectGraph.TrackableObject*
TrackableObjectGraph.TrackableObject: 1 children TrackableObjectGraph.TrackableObject.ObjectReference*;
    2 attributes TrackableObjectGraph.TrackableObject.SerializedTensor*;
    3 slot_variables TrackableObjectGraph.TrackableObject.SlotVariableReference*;
    5 has_checkpoint_values google.protobuf.BoolValue
TrackableObjectGraph.TrackableObject.SerializedTensor: 1 name string; 2 full_name string; 3 checkpoint_key string
SavedModel: 1 saved_model_schema_version int64; 2 meta_graphs MetaGraphDef*
BundleHeaderProto: 1 num_shards int32; 2 endianness BundleHeaderProto.Endianness; 3 version VersionDef
enum BundleHeaderProto.Endianness: 0 LITTLE; 1 BIG
BundleEntryProto: 1 dtype DataType; 2 shape TensorShapeProto; 3 shard_id int32; 4 offset int64; 5 size int64;
    6 crc32c fixed32; 7 slices TensorSliceProto*
TensorSliceProto: 1 extent TensorSliceProto.Extent*
TensorSliceProto.Extent: 1 start int64; 2 length int64|has_length_hack
CheckpointState: 1 model_checkpoint_path string; 2 all_model_checkpoint_paths string*;
    3 all_model_checkpoint_timestamps double*; 4 last_preserved_timestamp double
Example: 1 features Features
Features: 1 feature string:Feature
Feature: 1 bytes_list BytesList|kind; 2 float_list FloatList|kind; 3 int64_list Int64List|kind
BytesList: 1 value bytes*
FloatList: 1 value float*
Int64List: 1 value int64*
SequenceExample: 1 context Features; 2 feature_lists FeatureLists
FeatureLists: 1 feature_list string:FeatureList
FeatureList: 1 feature Feature*
"""

PROFILER = """
XSpace: 1 planes XPlane*; 2 errors string*; 3 warnings string*; 4 hostnames string*
XPlane: 1 id int64; 2 name string; 3 lines XLine*; 4 event_metadata int64:XEventMetadata;
    5 stat_metadata int64:XStatMetadata; 6 stats XStat*
XLine: 1 id int64; 2 name string; 3 timestamp_ns int64; 4 events XEvent*; 9 duration_ps int64; 10 display_id int64;
    11 display_name string
XEvent: 1 metadata_id int64; 2 offset_ps int64|data; 5 num_occurrences int64|data; 3 duration_ps int64; 4 stats XStat*
XStat: 1 metadata_id int64; 2 double_value double|value; 3 uint64_value uint64|value; 4 int64_value int64|value;
    5 str_value string|value; 6 bytes_value bytes|value; 7 ref_value uint64|value
XEventMetadata: 1 id int64; 2 name string; 3 metadata bytes; 4 display_name string; 5 stats XStat*; 6 child_id int64*
XStatMetadata: 1 id int64; 2 name string; 3 description string
"""

KERAS = """
SavedMetadata: 1 nodes SavedObject*
SavedObject: 2 node_id int32; 3 node_path string; 4 identifier string; 5 metadata string; 6 version VersionDef
VersionDef: 1 producer int32; 2 min_consumer int32; 3 bad_consumers int32*
"""

ONNX = """
ModelProto: 1 ir_version int64; 8 opset_import OperatorSetIdProto*; 2 producer_name string; 3 producer_version string;
    4 domain string; 5 model_version int64; 6 doc_string string; 7 graph GraphProto;
    14 metadata_props StringStringEntryProto*; 20 training_info TrainingInfoProto*; 25 functions FunctionProto*;
    26 configuration DeviceConfigurationProto*
OperatorSetIdProto: 1 domain string; 2 version int64
GraphProto: 1 node NodeProto*; 2 name string; 5 initializer TensorProto*; 15 sparse_initializer SparseTensorProto*;
    10 doc_string string; 11 input ValueInfoProto*; 12 output ValueInfoProto*; 13 value_info ValueInfoProto*;
    14 quantization_annotation TensorAnnotation*; 16 metadata_props StringStringEntryProto*
NodeProto: 1 input string*; 2 output string*; 3 name string; 4 op_type string; 7 domain string; 8 overload string;
    5 attribute AttributeProto*; 6 doc_string string; 9 metadata_props StringStringEntryProto*;
    10 device_configurations NodeDeviceConfigurationProto*
AttributeProto: 1 name string; 21 ref_attr_name string; 13 doc_string string; 20 type AttributeProto.AttributeType;
    2 f float; 3 i int64; 4 s bytes; 5 t TensorProto; 6 g GraphProto; 22 sparse_tensor SparseTensorProto;
    14 tp TypeProto; 7 floats float*; 8 ints int64*; 9 strings bytes*; 10 tensors TensorProto*; 11 graphs GraphProto*;
    23 sparse_tensors SparseTensorProto*; 15 type_protos TypeProto*
enum AttributeProto.AttributeType: 0 UNDEFINED; 1 FLOAT; 2 INT; 3 STRING; 4 TENSOR; 5 GRAPH; 11 SPARSE_TENSOR;
    13 TYPE_PROTO; 6 FLOATS; 7 INTS; 8 STRINGS; 9 TENSORS; 10 GRAPHS; 12 SPARSE_TENSORS; 14 TYPE_PROTOS
TensorProto: 1 dims int64*; 2 data_type int32; 3 segment TensorProto.Segment; 4 float_data float**;
    5 int32_data int32**; 6 string_data bytes*; 7 int64_data int64**; 8 name string; 12 doc_string string;
    9 raw_data bytes; 13 external_data StringStringEntryProto*; 14 data_location TensorProto.DataLocation;
    10 double_data double**; 11 uint64_data uint64**; 16 metadata_props StringStringEntryProto*
TensorProto.Segment: 1 begin int64; 2 end int64
StringStringEntryProto: 1 key string; 2 value string
enum TensorProto.DataLocation: 0 DEFAULT; 1 EXTERNAL
SparseTensorProto: 1 values TensorProto; 2 indices TensorProto; 3 dims int64*
TypeProto: 1 tensor_type TypeProto.Tensor|value; 4 sequence_type TypeProto.Sequence|value;
    5 map_type TypeProto.Map|value; 9 optional_type TypeProto.Optional|value;
    8 sparse_tensor_type TypeProto.SparseTensor|value; 7 opaque_type TypeProto.Opaque|value; 6 denotation string
TypeProto.Tensor: 1 elem_type int32; 2 shape TensorShapeProto
TensorShapeProto: 1 dim TensorShapeProto.Dimension*
TensorShapeProto.Dimension: 1 dim_value int64|value; 2 dim_param string|value; 3 denotation string
TypeProto.Sequence: 1 elem_type TypeProto
TypeProto.Map: 1 key_type int32; 2 value_type TypeProto
TypeProto.Optional: 1 elem_type TypeProto
TypeProto.SparseTensor: 1 elem_type int32; 2 shape TensorShapeProto
TypeProto.Opaque: 1 domain string; 2 name string
NodeDeviceConfigurationProto: 1 configuration_id string; 2 sharding_spec ShardingSpecProto*; 3 pipeline_stage int32
ShardingSpecProto: 1 tensor_name string; 2 device int64*; 3 index_to_device_group_map IntIntListEntryProto*;
    4 sharded_dim ShardedDimProto*
IntIntListEntryProto: 1 key int64; 2 value int64*
ShardedDimProto: 1 axis int64; 2 simple_sharding SimpleShardedDimProto*
SimpleShardedDimProto: 1 dim_value int64|dim; 2 dim_param string|dim; 3 num_shards int64
ValueInfoProto: 1 name string; 2 type TypeProto; 3 doc_string string; 4 metadata_props StringStringEntryProto*
TensorAnnotation: 1 tensor_name string; 2 quant_parameter_tensor_names StringStringEntryProto*
TrainingInfoProto: 1 initialization GraphProto; 2 algorithm GraphProto;
    3 initialization_binding StringStringEntryProto*; 4 update_binding StringStringEntryProto*
FunctionProto: 1 name string; 4 input string*; 5 output string*; 6 attribute string*;
    11 attribute_proto AttributeProto*; 7 node NodeProto*; 8 doc_string string; 9 opset_import OperatorSetIdProto*;
    10 domain string; 13 overload string; 12 value_info ValueInfoProto*; 14 metadata_props StringStringEntryProto*
DeviceConfigurationProto: 1 name string; 2 num_devices int32; 3 device string*
"""
