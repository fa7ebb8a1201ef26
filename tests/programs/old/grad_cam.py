"""Grad-CAM and saliency with K.gradients and K.function (Keras 2)."""
import numpy as np
import keras
import keras.backend as K
from keras.layers import Conv2D, Dense, Flatten, Input, Lambda, MaxPooling2D
from keras.models import Model, Sequential

nb_classes = 4


def make_model():
    inputs = Input(shape=(16, 16, 3), name='input_image')
    x = Conv2D(6, (3, 3), padding='same', activation='relu', name='block1_conv1')(inputs)
    x = MaxPooling2D((2, 2), name='block1_pool')(x)
    x = Conv2D(8, (3, 3), padding='same', activation='relu', name='block2_conv1')(x)
    x = MaxPooling2D((2, 2), name='block2_pool')(x)
    x = Flatten(name='flatten')(x)
    x = Dense(12, activation='relu', name='fc1')(x)
    return Model(inputs, Dense(nb_classes, activation='softmax', name='predictions')(x))


def target_category_loss(x, category_index, nb_classes):
    return x * K.one_hot([category_index], nb_classes)


def target_category_loss_output_shape(input_shape):
    return input_shape


def normalize(x):
    return x / (K.sqrt(K.mean(K.square(x))) + 1e-5)


def grad_cam(input_model, image, category_index, layer_name):
    model = Sequential()
    model.add(input_model)
    model.add(Lambda(lambda x: target_category_loss(x, category_index, nb_classes),
                     output_shape=target_category_loss_output_shape))
    loss = K.sum(model.layers[-1].output)
    conv_output = input_model.get_layer(layer_name).output
    score = K.sum(input_model.output * K.one_hot([category_index], nb_classes))
    grads = normalize(K.gradients(score, conv_output)[0])
    gradient_function = K.function([input_model.layers[0].input], [conv_output, grads])
    output, grads_val = gradient_function([image])
    output, grads_val = output[0, :], grads_val[0, :, :, :]
    weights = np.mean(grads_val, axis=(0, 1))
    cam = np.ones(output.shape[0:2], dtype=np.float32)
    for i, w in enumerate(weights):
        cam += w * output[:, :, i]
    cam = np.maximum(cam, 0)
    return cam / np.max(cam), weights, K.int_shape(loss)


def compile_saliency_function(model, activation_layer='block2_conv1'):
    input_img = model.input
    layer_dict = dict([(layer.name, layer) for layer in model.layers[1:]])
    layer_output = layer_dict[activation_layer].output
    max_output = K.max(layer_output, axis=3)
    saliency = K.gradients(K.sum(max_output), input_img)[0]
    return K.function([input_img, K.learning_phase()], [saliency])


def deprocess_image(x):
    x = x.copy()
    x -= x.mean()
    x /= (x.std() + 1e-5)
    x *= 0.1
    x += 0.5
    return np.clip(np.clip(x, 0, 1) * 255, 0, 255).astype('uint8')


def ascend(model, layer_name, filter_index, steps=3):
    """Gradient ascent in input space: the image that most excites a filter."""
    layer_output = model.get_layer(layer_name).output
    loss = K.mean(layer_output[:, :, :, filter_index])
    grads = normalize(K.gradients(loss, model.input)[0])
    iterate = K.function([model.input], [loss, grads])
    data = np.full((1, 16, 16, 3), 0.5)
    for _ in range(steps):
        loss_value, grads_value = iterate([data])
        data += grads_value
    return loss_value, deprocess_image(data[0])


model = make_model()
rng = np.random.RandomState(5)
model.set_weights([rng.randn(*w.shape) * 0.3 for w in model.get_weights()])
rows, columns = np.meshgrid(np.arange(16), np.arange(16), indexing='ij')
image = np.stack([np.sin(rows / 3.), np.cos(columns / 2.), np.sin((rows + columns) / 4.)], -1)[np.newaxis]

predictions = model.predict(image)
print('predictions', ' '.join('%.4f' % p for p in predictions[0]))
predicted_class = np.argmax(predictions)
cam, weights, shape = grad_cam(model, image, predicted_class, 'block2_conv1')
print('cam', cam.shape, '%.4f' % cam.mean(), 'at', np.unravel_index(cam.argmax(), cam.shape))
print('weights', ' '.join('%.4f' % w for w in weights[:4]), shape)
saliency = compile_saliency_function(model)([image, 0])[0]
print('saliency', saliency.shape, '%.4f' % np.abs(saliency).mean())
loss, picture = ascend(model, 'block1_conv1', 1)
print('ascent %.4f' % loss, picture.dtype, '%.2f' % picture.mean())
hidden = K.function([model.layers[0].input], [model.get_layer('fc1').output])([image])[0]
print('hidden', hidden.shape, '%.4f' % hidden.mean(), keras.backend.backend())
