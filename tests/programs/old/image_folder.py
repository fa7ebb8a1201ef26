"""Train on images of a folder with ImageDataGenerator (Keras 2.1)."""
import os
import tempfile

import numpy as np
from keras import backend as K
from keras.callbacks import CSVLogger, LearningRateScheduler, ModelCheckpoint
from keras.layers import Activation, BatchNormalization, Conv2D, Dense, Dropout, GlobalAveragePooling2D, MaxPooling2D
from keras.models import Sequential
from keras.optimizers import RMSprop
from keras.preprocessing import image
from keras.preprocessing.image import ImageDataGenerator
from PIL import Image

img_width, img_height = 16, 12
nb_train_samples, nb_validation_samples = 16, 8
epochs, batch_size = 2, 4
folder = tempfile.mkdtemp()


def write_images(split, count):
    for kind, name in enumerate(('cats', 'dogs')):
        os.makedirs(os.path.join(folder, split, name))
        for i in range(count // 2):
            rows, columns = np.meshgrid(np.arange(24), np.arange(32), indexing='ij')
            wave = np.sin(rows * (kind + 1) / 4. + i) * np.cos(columns / (3. + kind)) * 100 + 128
            pixels = np.stack([wave, 255 - wave, np.full_like(wave, 40 * kind + i)], -1).astype('uint8')
            Image.fromarray(pixels).save(os.path.join(folder, split, name, '%s.%d.png' % (name, i)))


write_images('train', nb_train_samples)
write_images('validation', nb_validation_samples)

if K.image_data_format() == 'channels_first':
    input_shape = (3, img_height, img_width)
else:
    input_shape = (img_height, img_width, 3)

model = Sequential()
model.add(Conv2D(4, (3, 3), input_shape=input_shape))
model.add(Activation('relu'))
model.add(MaxPooling2D(pool_size=(2, 2)))
model.add(Conv2D(6, (3, 3), padding='same', kernel_initializer='he_normal'))
model.add(BatchNormalization(momentum=0.9))
model.add(Activation('relu'))
model.add(GlobalAveragePooling2D())
model.add(Dense(8, activation='elu'))
model.add(Dropout(0.5))
model.add(Dense(1))
model.add(Activation('sigmoid'))
model.compile(loss='binary_crossentropy', optimizer=RMSprop(lr=0.002, decay=1e-4), metrics=['accuracy'])

train_datagen = ImageDataGenerator(rescale=1. / 255, featurewise_center=False, horizontal_flip=False)
test_datagen = ImageDataGenerator(rescale=1. / 255)
train_generator = train_datagen.flow_from_directory(
    os.path.join(folder, 'train'), target_size=(img_height, img_width), batch_size=batch_size,
    class_mode='binary', shuffle=False)
validation_generator = test_datagen.flow_from_directory(
    os.path.join(folder, 'validation'), target_size=(img_height, img_width), batch_size=batch_size,
    class_mode='binary', shuffle=False)
print('classes', train_generator.class_indices, train_generator.samples)

history = model.fit_generator(
    train_generator, steps_per_epoch=nb_train_samples // batch_size, epochs=epochs,
    validation_data=validation_generator, validation_steps=nb_validation_samples // batch_size, verbose=0,
    workers=1, max_queue_size=1, shuffle=False,
    callbacks=[ModelCheckpoint(os.path.join(folder, 'best.h5'), monitor='val_loss', save_best_only=True),
               LearningRateScheduler(lambda epoch: 0.002 * 0.5 ** epoch),
               CSVLogger(os.path.join(folder, 'log.csv'))])
for loss, val_loss in zip(history.history['loss'], history.history['val_loss']):
    print('loss %.4f val_loss %.4f' % (loss, val_loss))

scores = model.evaluate_generator(validation_generator, steps=2)
print('evaluate %.4f' % scores[0], model.metrics_names)
predictions = model.predict_generator(validation_generator, steps=2)
print('predictions', predictions.shape, '%.4f' % predictions.mean())

img = image.load_img(os.path.join(folder, 'train', 'cats', 'cats.1.png'), target_size=(img_height, img_width))
x = np.expand_dims(image.img_to_array(img), axis=0)
print('image', x.shape, '%.3f' % x.mean())
batches = 0
for batch in ImageDataGenerator(rotation_range=0, zoom_range=0., fill_mode='nearest').flow(x, batch_size=1):
    batches += 1
    if batches == 2:
        break
print('flow', batch.shape, '%.3f' % batch.mean())
print('log', open(os.path.join(folder, 'log.csv')).readline().strip())
print('classes', model.predict_classes(x / 255.).shape, '%.4f' % model.predict_proba(x / 255.)[0, 0])
print('best', os.path.exists(os.path.join(folder, 'best.h5')), 'lr %.5f' % K.get_value(model.optimizer.lr))
