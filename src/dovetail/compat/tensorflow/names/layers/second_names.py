"""The second names of layers in TensorFlow's private modules, which TF-Slim and other libraries import."""

from dovetail.compat.tensorflow.entries import second

NAMES = {  # module → its names, each with the name in `tf.layers`
    "core": "FullyConnected:Dense fully_connected:dense",
    "normalization": "BatchNorm:BatchNormalization batch_norm:batch_normalization",
    "pooling": "MaxPool2D:MaxPooling2D AvgPool2D:AveragePooling2D max_pool2d:max_pooling2d "
    "avg_pool2d:average_pooling2d",
    "convolutional": "Convolution1D:Conv1D Convolution2D:Conv2D Convolution3D:Conv3D convolution1d:conv1d "
    "convolution2d:conv2d convolution3d:conv3d SeparableConvolution2D:SeparableConv2D "
    "separable_convolution2d:separable_conv2d Convolution2DTranspose:Conv2DTranspose Deconv2D:Conv2DTranspose "
    "Deconvolution2D:Conv2DTranspose convolution2d_transpose:conv2d_transpose deconv2d:conv2d_transpose "
    "deconvolution2d:conv2d_transpose Convolution3DTranspose:Conv3DTranspose Deconv3D:Conv3DTranspose "
    "Deconvolution3D:Conv3DTranspose convolution3d_transpose:conv3d_transpose deconv3d:conv3d_transpose "
    "deconvolution3d:conv3d_transpose",
}

for _module, _names in NAMES.items():
    for _name in _names.split():
        _second, _, _first = _name.partition(":")
        second(f"python.layers.{_module}.{_second}", f"layers.{_first}")
