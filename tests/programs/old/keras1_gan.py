"""A GAN for small digits in the words of Keras 1 (2016)."""
from __future__ import print_function

import numpy as np
from keras import backend as K
from keras.layers import Activation, Dense, Dropout, Flatten, Input, Reshape, merge
from keras.layers.advanced_activations import LeakyReLU
from keras.layers.convolutional import Convolution2D, MaxPooling2D, UpSampling2D
from keras.layers.normalization import BatchNormalization
from keras.models import Model, Sequential
from keras.optimizers import SGD, Adam
from keras.regularizers import l2

np.random.seed(1337)
K.set_image_dim_ordering('tf')
nz, size, batch_size, nb_epoch = 6, 8, 8, 2


def build_generator():
    model = Sequential()
    model.add(Dense(input_dim=nz, output_dim=24, init='glorot_normal'))
    model.add(Activation('tanh'))
    model.add(Dense(4 * 4 * 6, init='he_normal'))
    model.add(BatchNormalization(mode=0, axis=1))
    model.add(Activation('tanh'))
    model.add(Reshape((4, 4, 6), input_shape=(4 * 4 * 6,)))
    model.add(UpSampling2D(size=(2, 2)))
    model.add(Convolution2D(4, 3, 3, border_mode='same', init='glorot_uniform'))
    model.add(Activation('relu'))
    model.add(Convolution2D(nb_filter=1, nb_row=3, nb_col=3, border_mode='same', W_regularizer=l2(1e-4)))
    model.add(Activation('sigmoid'))
    return model


def build_discriminator():
    image = Input(shape=(size, size, 1))
    h = Convolution2D(6, 3, 3, subsample=(2, 2), border_mode='same')(image)
    h = LeakyReLU(0.2)(h)
    h = Dropout(0.3)(h)
    h = Convolution2D(8, 3, 3, border_mode='valid', bias=False)(h)
    h = MaxPooling2D(pool_size=(2, 2), border_mode='valid', dim_ordering='tf')(h)
    h = LeakyReLU(0.2)(h)
    flat = Flatten()(h)
    left, right = Dense(4, activation='tanh')(flat), Dense(4, activation='sigmoid')(flat)
    both = merge([left, right], mode='concat', concat_axis=-1)
    total = merge([left, right], mode='sum')
    h = merge([both, Dense(8)(total)], mode='mul')
    return Model(input=image, output=Dense(1, activation='sigmoid')(h))


def set_trainability(model, trainable):
    model.trainable = trainable
    for layer in model.layers:
        layer.trainable = trainable


def images(count):
    grid = np.arange(size)
    found = [np.outer(np.sin(grid * (i % 3 + 1) / 2.) ** 2, np.cos(grid * (i % 2 + 1) / 3.) ** 2) for i in range(count)]
    return np.array(found, 'float32').reshape(count, size, size, 1)


generator = build_generator()
discriminator = build_discriminator()
generator.compile(loss='binary_crossentropy', optimizer=SGD(lr=0.05, momentum=0.9, nesterov=True))
discriminator.compile(loss='binary_crossentropy', optimizer=Adam(lr=0.002, beta_1=0.5), metrics=['accuracy'])

set_trainability(discriminator, False)
gan_input = Input(shape=(nz,))
gan = Model(input=[gan_input], output=[discriminator(generator(gan_input))])
gan.compile(loss='binary_crossentropy', optimizer=Adam(lr=0.002, beta_1=0.5))
print('generator', generator.count_params(), 'discriminator', discriminator.count_params())

X_train = images(24)
for epoch in range(nb_epoch):
    for index in range(int(X_train.shape[0] / batch_size)):
        noise = np.random.uniform(-1, 1, (batch_size, nz))
        image_batch = X_train[index * batch_size:(index + 1) * batch_size]
        generated_images = generator.predict(noise, verbose=0)
        X = np.concatenate((image_batch, generated_images))
        y = [1] * batch_size + [0] * batch_size
        d_loss, d_acc = discriminator.train_on_batch(X, np.array(y))
        g_loss = gan.train_on_batch(noise, np.array([1] * batch_size))
        print("epoch %d batch %d d_loss : %.4f g_loss : %.4f" % (epoch, index, d_loss, g_loss))

history = discriminator.fit(X_train, np.ones(24), batch_size=batch_size, nb_epoch=1, verbose=0, shuffle=False,
                            validation_data=(generator.predict(np.zeros((4, nz))), np.zeros(4)))
print('history', sorted(history.history))
print('predict %.4f' % discriminator.predict(X_train).mean())
print('output', K.int_shape(generator.output), generator.layers[0].get_config()['name'][:5])
weights = generator.get_weights()
generator.set_weights([w * 0.5 for w in weights])
print('halved %.4f' % np.abs(generator.predict(np.ones((2, nz)))).mean())
