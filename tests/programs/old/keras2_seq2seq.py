"""Character-level sequence to sequence with LSTM states (Keras 2.0)."""
from __future__ import print_function

import numpy as np
from keras.callbacks import EarlyStopping, LambdaCallback
from keras.layers import LSTM, Dense, Input
from keras.models import Model, load_model

batch_size = 8
epochs = 2
latent_dim = 12
num_samples = 24

pairs = [(''.join(chr(97 + (i * k) % 5) for k in range(1, 4 + i % 3)), i) for i in range(num_samples)]
input_texts = [text for text, _ in pairs]
target_texts = ['\t' + text[::-1].upper() + '\n' for text, _ in pairs]
input_characters = sorted(set(''.join(input_texts)))
target_characters = sorted(set(''.join(target_texts)))
num_encoder_tokens, num_decoder_tokens = len(input_characters), len(target_characters)
max_encoder_seq_length = max([len(txt) for txt in input_texts])
max_decoder_seq_length = max([len(txt) for txt in target_texts])

print('Number of samples:', len(input_texts))
print('Number of unique input tokens:', num_encoder_tokens)
print('Number of unique output tokens:', num_decoder_tokens)

input_token_index = dict([(char, i) for i, char in enumerate(input_characters)])
target_token_index = dict([(char, i) for i, char in enumerate(target_characters)])
encoder_input_data = np.zeros((len(input_texts), max_encoder_seq_length, num_encoder_tokens), dtype='float32')
decoder_input_data = np.zeros((len(input_texts), max_decoder_seq_length, num_decoder_tokens), dtype='float32')
decoder_target_data = np.zeros((len(input_texts), max_decoder_seq_length, num_decoder_tokens), dtype='float32')
for i, (input_text, target_text) in enumerate(zip(input_texts, target_texts)):
    for t, char in enumerate(input_text):
        encoder_input_data[i, t, input_token_index[char]] = 1.
    for t, char in enumerate(target_text):
        decoder_input_data[i, t, target_token_index[char]] = 1.
        if t > 0:
            decoder_target_data[i, t - 1, target_token_index[char]] = 1.

encoder_inputs = Input(shape=(None, num_encoder_tokens))
encoder = LSTM(latent_dim, return_state=True)
encoder_outputs, state_h, state_c = encoder(encoder_inputs)
encoder_states = [state_h, state_c]

decoder_inputs = Input(shape=(None, num_decoder_tokens))
decoder_lstm = LSTM(latent_dim, return_sequences=True, return_state=True)
decoder_outputs, _, _ = decoder_lstm(decoder_inputs, initial_state=encoder_states)
decoder_dense = Dense(num_decoder_tokens, activation='softmax')
decoder_outputs = decoder_dense(decoder_outputs)

model = Model([encoder_inputs, decoder_inputs], decoder_outputs)
model.compile(optimizer='rmsprop', loss='categorical_crossentropy')
losses = []
model.fit([encoder_input_data, decoder_input_data], decoder_target_data, batch_size=batch_size, epochs=epochs,
          validation_split=0.25, verbose=0, shuffle=False,
          callbacks=[EarlyStopping(patience=5),
                     LambdaCallback(on_epoch_end=lambda epoch, logs: losses.append((logs['loss'], logs['val_loss'])))])
for loss, val_loss in losses:
    print('loss %.4f val_loss %.4f' % (loss, val_loss))
model.save('s2s.h5')
again = load_model('s2s.h5')
print('loaded %.4f' % again.evaluate([encoder_input_data, decoder_input_data], decoder_target_data, verbose=0))

# inference: encoder and decoder by themselves
encoder_model = Model(encoder_inputs, encoder_states)
decoder_state_input_h = Input(shape=(latent_dim,))
decoder_state_input_c = Input(shape=(latent_dim,))
decoder_states_inputs = [decoder_state_input_h, decoder_state_input_c]
decoder_outputs, state_h, state_c = decoder_lstm(decoder_inputs, initial_state=decoder_states_inputs)
decoder_model = Model([decoder_inputs] + decoder_states_inputs,
                      [decoder_dense(decoder_outputs)] + [state_h, state_c])


def decode_sequence(input_seq, steps=3):
    states_value = encoder_model.predict(input_seq)
    target_seq = np.zeros((1, 1, num_decoder_tokens))
    target_seq[0, 0, target_token_index['\t']] = 1.
    found = []
    for _ in range(steps):
        output_tokens, h, c = decoder_model.predict([target_seq] + states_value)
        found.append(output_tokens[0, -1].max())
        target_seq = output_tokens
        states_value = [h, c]
    return found


for seq_index in range(2):
    print('Input:', input_texts[seq_index], ' '.join('%.4f' % p for p in decode_sequence(
        encoder_input_data[seq_index: seq_index + 1])))
