"""Sentences with an attention layer written in K (Keras 2.0, about 2017)."""
import numpy as np
from keras import backend as K
from keras import constraints, initializers, regularizers
from keras.engine.topology import Layer
from keras.layers import GRU, Bidirectional, Dense, Embedding, Input, SpatialDropout1D, TimeDistributed
from keras.models import Model
from keras.preprocessing.sequence import pad_sequences
from keras.preprocessing.text import Tokenizer
from keras.utils import to_categorical


def dot_product(x, kernel):
    """A product that works with Theano and TensorFlow."""
    if K.backend() == 'tensorflow':
        return K.squeeze(K.dot(x, K.expand_dims(kernel)), axis=-1)
    else:
        return K.dot(x, kernel)


class AttentionWithContext(Layer):
    """Attention with a context vector; it takes (samples, steps, features), and gives (samples, features)."""

    def __init__(self, W_regularizer=None, u_regularizer=None, b_regularizer=None,
                 W_constraint=None, u_constraint=None, b_constraint=None, bias=True, **kwargs):
        self.supports_masking = True
        self.init = initializers.get('glorot_uniform')
        self.W_regularizer = regularizers.get(W_regularizer)
        self.u_regularizer = regularizers.get(u_regularizer)
        self.b_regularizer = regularizers.get(b_regularizer)
        self.W_constraint = constraints.get(W_constraint)
        self.u_constraint = constraints.get(u_constraint)
        self.b_constraint = constraints.get(b_constraint)
        self.bias = bias
        super(AttentionWithContext, self).__init__(**kwargs)

    def build(self, input_shape):
        assert len(input_shape) == 3
        self.W = self.add_weight((input_shape[-1], input_shape[-1],), initializer=self.init,
                                 name='{}_W'.format(self.name), regularizer=self.W_regularizer,
                                 constraint=self.W_constraint)
        if self.bias:
            self.b = self.add_weight((input_shape[-1],), initializer='zero', name='{}_b'.format(self.name),
                                     regularizer=self.b_regularizer, constraint=self.b_constraint)
        self.u = self.add_weight((input_shape[-1],), initializer=self.init, name='{}_u'.format(self.name),
                                 regularizer=self.u_regularizer, constraint=self.u_constraint)
        super(AttentionWithContext, self).build(input_shape)

    def compute_mask(self, input, input_mask=None):
        return None

    def call(self, x, mask=None):
        uit = K.dot(x, self.W)
        if self.bias:
            uit += self.b
        uit = K.tanh(uit)
        ait = dot_product(uit, self.u)
        a = K.exp(ait)
        if mask is not None:
            a *= K.cast(mask, K.floatx())
        a /= K.cast(K.sum(a, axis=1, keepdims=True) + K.epsilon(), K.floatx())
        a = K.expand_dims(a)
        weighted_input = x * a
        return K.sum(weighted_input, axis=1)

    def compute_output_shape(self, input_shape):
        return input_shape[0], input_shape[-1]


texts = ['the film was good and long', 'a bad film', 'good actors and a good story', 'the story was bad',
         'long and bad', 'actors were good', 'the end was good', 'a bad end and a bad story']
labels = np.array([1, 0, 1, 0, 0, 1, 1, 0])
tokenizer = Tokenizer(num_words=20)
tokenizer.fit_on_texts(texts)
sequences = tokenizer.texts_to_sequences(texts)
print('Found %s unique tokens.' % len(tokenizer.word_index), sequences[0])
data = pad_sequences(sequences, maxlen=6)
targets = to_categorical(labels)

sentence_input = Input(shape=(6,), dtype='int32')
embedded = Embedding(20, 8, input_length=6, mask_zero=True, trainable=True)(sentence_input)
embedded = SpatialDropout1D(0.2)(embedded)
l_gru = Bidirectional(GRU(5, return_sequences=True, dropout=0.1))(embedded)
l_dense = TimeDistributed(Dense(7))(l_gru)
l_att = AttentionWithContext(W_regularizer=regularizers.l2(1e-3), u_constraint='unitnorm')(l_dense)
preds = Dense(2, activation='softmax')(l_att)
model = Model(sentence_input, preds)
model.compile(loss='categorical_crossentropy', optimizer='adam', metrics=['acc'])
print('parameters', model.count_params(), [w.name.split('/')[-1].split(':')[0] for w in model.layers[-2].weights])
history = model.fit(data, targets, epochs=3, batch_size=4, verbose=0, shuffle=False)
for loss in history.history['loss']:
    print('loss %.4f' % loss)
print('scores', ' '.join('%.4f' % p for p in model.predict(data)[:, 1]))
model.save_weights('attention.h5')
model.load_weights('attention.h5')
print('evaluate %.4f' % model.evaluate(data, targets, verbose=0)[0])
