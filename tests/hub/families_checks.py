"""Small models of keras-hub's families with random weights: outputs, the loss of two steps, generated tokens."""

from __future__ import annotations

import sys
from functools import partial

import keras
import keras_hub
import numpy as np
from keras import ops, tree

from tests.keras_backends import main

models = keras_hub.models
WORDS, BATCH, LENGTH, PROMPT = 60, 2, 12, 4
SIZES = {"vocabulary_size": WORDS, "num_layers": 2, "hidden_dim": 16, "intermediate_dim": 32}
HEADS, GROUPED = {"num_heads": 2}, {"num_query_heads": 4, "num_key_value_heads": 2}
SAMPLERS = {  # the ones whose tokens draw nothing, or the likeliest alone
    "greedy": lambda: keras_hub.samplers.GreedySampler(),
    "beam": lambda: keras_hub.samplers.BeamSampler(num_beams=3),
    "contrastive": lambda: keras_hub.samplers.ContrastiveSampler(k=3, alpha=0.4),
    "top_k": lambda: keras_hub.samplers.TopKSampler(k=1, seed=1),
    "top_p": lambda: keras_hub.samplers.TopPSampler(p=1e-6, seed=1),
}


def draws():
    return np.random.default_rng(0)


def tokens(*names):
    """Inputs of words, by the names of (tokens, mask, ...)."""
    words = draws().integers(2, WORDS, (BATCH, LENGTH)).astype("int32")
    mask = (np.arange(LENGTH) < [[LENGTH], [LENGTH - 3]]).astype("int32")
    return {name: mask if "mask" in name else words * 0 if "segment" in name else words for name in names}


def images(size):
    return draws().normal(size=(BATCH, size, size, 3)).astype("float32")


def clip():
    towers = {"num_layers": 2, "num_heads": 2, "hidden_dim": 16, "intermediate_dim": 32}
    vision = models.CLIPVisionEncoder(patch_size=8, image_shape=(16, 16, 3), name="vision_encoder", **towers)
    text = models.CLIPTextEncoder(
        vocabulary_size=WORDS, embedding_dim=16, max_sequence_length=LENGTH, name="text_encoder", **towers
    )
    return models.CLIPBackbone(vision_encoder=vision, text_encoder=text, projection_dim=8)


def sam():
    vision = models.ViTDetBackbone(
        hidden_size=16,
        num_layers=2,
        intermediate_dim=32,
        num_heads=2,
        global_attention_layer_indices=[1],
        image_shape=(64, 64, 3),
        patch_size=16,
        num_output_channels=8,
        window_size=2,
    )
    prompts = keras_hub.layers.SAMPromptEncoder(
        hidden_size=8, image_embedding_size=(4, 4), input_image_size=(64, 64), mask_in_channels=4
    )
    decoder = keras_hub.layers.SAMMaskDecoder(
        hidden_size=8, num_layers=2, intermediate_dim=16, num_heads=2, embedding_dim=8, iou_head_hidden_dim=8
    )
    return models.SAMBackbone(image_encoder=vision, prompt_encoder=prompts, mask_decoder=decoder)


def prompts():
    places = draws().uniform(0, 64, (BATCH, 3, 2)).astype("float32")
    return {
        "images": images(64),
        "points": places,
        "labels": np.ones((BATCH, 3), "float32"),
        "boxes": places[:, :1, None].repeat(2, axis=2) + np.float32([[0, 0], [9, 9]]),
        "masks": np.zeros((BATCH, 0, 16, 16, 1), "float32"),
    }


def resnet():
    return models.ResNetBackbone(
        input_conv_filters=[64],
        input_conv_kernel_sizes=[3],
        stackwise_num_filters=[64, 64],
        stackwise_num_blocks=[1, 2],
        stackwise_num_strides=[1, 2],
        block_type="basic_block",
        image_shape=(16, 16, 3),
    )


SIZES_OF_WRITERS = {
    "GPT2": {**HEADS, "max_sequence_length": LENGTH, "dropout": 0.0},
    "Gemma": {**GROUPED, "head_dim": 4},
    "Llama": GROUPED,
    "Mistral": GROUPED,
    "Qwen": GROUPED,
}
WRITERS = {  # of text: name → the model's class, the class of what it consists of, and its sizes
    name: (getattr(models, f"{name}CausalLM"), getattr(models, f"{name}Backbone"), own)
    for name, own in SIZES_OF_WRITERS.items()
    if hasattr(models, f"{name}CausalLM")  # the oldest version has no Qwen
}
BOTH = [f"{side}_{kind}" for side in ("encoder", "decoder") for kind in ("token_ids", "padding_mask")]
WORDS_OF_WRITERS = partial(tokens, "token_ids", "padding_mask")
FAMILIES = {  # name → what makes the model, and its inputs
    **{name: (partial(cls, **SIZES, **own), WORDS_OF_WRITERS) for name, (_, cls, own) in WRITERS.items()},
    "Bert": (
        lambda: models.BertBackbone(**SIZES, **HEADS, dropout=0.0, max_sequence_length=LENGTH),
        partial(tokens, "token_ids", "padding_mask", "segment_ids"),
    ),
    "T5": (lambda: models.T5Backbone(**SIZES, **HEADS, dropout=0.0), partial(tokens, *BOTH)),
    "Whisper": (
        lambda: models.WhisperBackbone(
            **SIZES, **HEADS, num_mels=8, max_encoder_sequence_length=16, max_decoder_sequence_length=LENGTH
        ),
        lambda: {"encoder_features": draws().normal(size=(BATCH, 16, 8)).astype("float32"), **tokens(*BOTH[2:])},
    ),
    "ViT": (
        lambda: models.ViTBackbone((16, 16, 3), 8, num_layers=2, num_heads=2, hidden_dim=16, mlp_dim=32),
        partial(images, 16),
    ),
    "ResNet": (resnet, partial(images, 16)),
    "CLIP": (clip, lambda: {"images": images(16), **tokens("token_ids")}),
    "SAM": (sam, prompts),
}


def made(make):
    """A model whose weights are the same on each backend."""
    model, rng = make(), draws()
    for weight in model.weights:
        drawn = rng.normal(size=weight.shape) * 0.1
        if "seed" not in weight.path:
            weight.assign(1.0 + np.abs(drawn) if "variance" in weight.path or "gamma" in weight.path else drawn)
    return model


def forward(name):
    make, inputs = FAMILIES[name]
    return [np.asarray(part, "float64") for part in tree.flatten(made(make).predict(inputs(), verbose=0))]


def steps(name):
    make, inputs = FAMILIES[name]
    model = made(make)
    first = tree.flatten(model.output)[0]
    mean = ops.mean(ops.square(first), axis=tuple(range(1, len(first.shape))))
    trained = keras.Model(model.input, mean)
    trained.compile(keras.optimizers.SGD(1e-3), "mse")
    return [trained.train_on_batch(inputs(), np.ones(BATCH)) for _ in range(2)]


def generated(name, sampler="greedy", stop=None):
    cls, backbone, own = WRITERS[name]
    model = made(lambda: cls(backbone=backbone(**SIZES, **own), preprocessor=None))
    model.compile(sampler=SAMPLERS[sampler]())
    given = WORDS_OF_WRITERS()
    mask = np.broadcast_to(np.arange(LENGTH) < PROMPT, (BATCH, LENGTH)).astype("int32")
    results = model.generate({"token_ids": given["token_ids"] * mask, "padding_mask": mask}, stop_token_ids=stop)
    return [np.asarray(results["token_ids"]), np.asarray(results["padding_mask"])]


def text():
    """Answers to texts, by a tokenizer of letters."""
    letters = ["<|endoftext|>", *(chr(n) for n in range(97, 123)), "\u0120", "xy"]
    vocabulary = {letter: n for n, letter in enumerate(letters)}
    tokenizer = models.GPT2Tokenizer(vocabulary=vocabulary, merges=["x y"])
    preprocessor = models.GPT2CausalLMPreprocessor(tokenizer, sequence_length=LENGTH)
    own = {**SIZES, "vocabulary_size": len(letters), **WRITERS["GPT2"][2]}
    model = made(lambda: models.GPT2CausalLM(backbone=models.GPT2Backbone(**own), preprocessor=preprocessor))
    model.compile(sampler="greedy")
    return [model.generate("ab", max_length=10), *model.generate(["ab", "xyz"], max_length=LENGTH)]


PROGRAMS = {
    "text": text,
    **{f"forward_{name}": partial(forward, name) for name in FAMILIES},
    **{f"steps_{name}": partial(steps, name) for name in FAMILIES},
    **{f"generated_{name}": partial(generated, name) for name in WRITERS},
    **{f"generated_by_{sampler}": partial(generated, "GPT2", sampler) for sampler in SAMPLERS},
    "generated_until": partial(generated, "GPT2", "greedy", (3, 7, 11, 23, 31, 42)),
}

if "keras_dovetail" in sys.modules:
    from keras_dovetail.src.generation import Generation

    def check_it_is_a_program():
        cls, backbone, own = WRITERS["GPT2"]
        model = cls(backbone=backbone(**SIZES, **own), preprocessor=None)
        assert isinstance(model.make_generate_function(), Generation)

    def check_lora_is_seen():
        """Check that the weights of LoRA give a new program, whose tokens are those of the step itself."""
        cls, backbone, own = WRITERS["GPT2"]
        model = made(lambda: cls(backbone=backbone(**SIZES, **own), preprocessor=None))
        model.compile(sampler="greedy")
        mask = np.broadcast_to(np.arange(LENGTH) < PROMPT, (BATCH, LENGTH)).astype("int32")
        given = {"token_ids": WORDS_OF_WRITERS()["token_ids"] * mask, "padding_mask": mask}

        def tokens_of():
            return np.asarray(model.generate(given, stop_token_ids=None)["token_ids"])

        before, function = tokens_of(), model.generate_function
        model.backbone.enable_lora(2)
        for weight in model.weights:
            if "lora" in weight.path:
                weight.assign(draws().normal(size=weight.shape) * 3)
        compiled = tokens_of()
        assert model.generate_function is function and (compiled != before).any()
        model.compile(sampler="greedy", run_eagerly=True)
        np.testing.assert_array_equal(compiled, tokens_of())

    PROGRAMS |= {"check_it_is_a_program": check_it_is_a_program, "check_lora_is_seen": check_lora_is_seen}

main(PROGRAMS)
