"""A siamese network with a distance in a Lambda layer and a contrastive loss (Keras 2.0)."""
from __future__ import absolute_import, print_function

import random

import numpy as np
from keras import backend as K
from keras.callbacks import ReduceLROnPlateau
from keras.layers import Dense, Dropout, Embedding, Flatten, Input, Lambda, LSTM, dot
from keras.models import Model, model_from_json
from keras.optimizers import RMSprop
from keras.utils import np_utils

num_classes, epochs = 4, 2


def euclidean_distance(vects):
    x, y = vects
    sum_square = K.sum(K.square(x - y), axis=1, keepdims=True)
    return K.sqrt(K.maximum(sum_square, K.epsilon()))


def eucl_dist_output_shape(shapes):
    shape1, shape2 = shapes
    return (shape1[0], 1)


def contrastive_loss(y_true, y_pred):
    margin = 1
    square_pred = K.square(y_pred)
    margin_square = K.square(K.maximum(margin - y_pred, 0))
    return K.mean(y_true * square_pred + (1 - y_true) * margin_square)


def create_pairs(x, digit_indices):
    pairs, labels = [], []
    n = min([len(digit_indices[d]) for d in range(num_classes)]) - 1
    for d in range(num_classes):
        for i in range(n):
            z1, z2 = digit_indices[d][i], digit_indices[d][i + 1]
            pairs += [[x[z1], x[z2]]]
            inc = random.randrange(1, num_classes)
            dn = (d + inc) % num_classes
            z1, z2 = digit_indices[d][i], digit_indices[dn][i]
            pairs += [[x[z1], x[z2]]]
            labels += [1, 0]
    return np.array(pairs), np.array(labels).astype('float32')


def create_base_network(input_shape):
    input = Input(shape=input_shape)
    x = Flatten()(input)
    x = Dense(16, activation='relu')(x)
    x = Dropout(0.1)(x)
    x = Dense(16, activation='relu')(x)
    x = Dense(8, activation='linear', kernel_constraint='maxnorm')(x)
    return Model(input, x)


def compute_accuracy(y_true, y_pred):
    pred = y_pred.ravel() < 0.5
    return np.mean(pred == y_true)


def accuracy(y_true, y_pred):
    return K.mean(K.equal(y_true, K.cast(y_pred < 0.5, y_true.dtype)))


random.seed(3)
rng = np.random.RandomState(8)
y_train = np.arange(40) % num_classes
centers = rng.rand(num_classes, 6, 6)
x_train = (centers[y_train] + 0.1 * rng.randn(40, 6, 6)).astype('float32')
digit_indices = [np.where(y_train == i)[0] for i in range(num_classes)]
tr_pairs, tr_y = create_pairs(x_train, digit_indices)

base_network = create_base_network(x_train.shape[1:])
input_a, input_b = Input(shape=(6, 6)), Input(shape=(6, 6))
processed_a, processed_b = base_network(input_a), base_network(input_b)
distance = Lambda(euclidean_distance, output_shape=eucl_dist_output_shape)([processed_a, processed_b])
model = Model([input_a, input_b], distance)
model.compile(loss=contrastive_loss, optimizer=RMSprop(), metrics=[accuracy])
history = model.fit([tr_pairs[:, 0], tr_pairs[:, 1]], tr_y, batch_size=16, epochs=epochs, verbose=0, shuffle=False,
                    validation_data=([tr_pairs[:16, 0], tr_pairs[:16, 1]], tr_y[:16]),
                    callbacks=[ReduceLROnPlateau(monitor='loss', patience=1)])
for loss, acc in zip(history.history['loss'], history.history['accuracy']):
    print('loss %.4f accuracy %.4f' % (loss, acc))
y_pred = model.predict([tr_pairs[:, 0], tr_pairs[:, 1]])
print('* Accuracy on training set: %0.2f%%' % (100 * compute_accuracy(tr_y, y_pred)), 'mean %.4f' % y_pred.mean())
print('shared', len(model.layers), base_network.get_output_at(0) is not None, model.count_params())

# a second pair of towers, with words
words = Input(shape=(5,), dtype='int32')
tower = Model(words, LSTM(6)(Embedding(10, 4, mask_zero=True, input_length=5)(words)))
left, right = Input(shape=(5,), dtype='int32'), Input(shape=(5,), dtype='int32')
cosine = dot([tower(left), tower(right)], axes=1, normalize=True)
text_model = Model([left, right], cosine)
text_model.compile('sgd', 'mse')
a = np.array([[1, 2, 3, 0, 0], [4, 5, 0, 0, 0]])
b = np.array([[1, 2, 3, 4, 0], [5, 4, 3, 2, 1]])
print('text loss %.5f' % text_model.train_on_batch([a, b], np.array([[1.], [0.]])))
print('cosine', ' '.join('%.4f' % v for v in text_model.predict([a, b]).ravel()))
again = model_from_json(base_network.to_json())
again.set_weights(base_network.get_weights())
print('again %.5f' % np.abs(again.predict(x_train) - base_network.predict(x_train)).max())
print('one hot', np_utils.to_categorical(y_train[:3], num_classes).tolist())
