// Trains a step that Dovetail has saved as an ONNX model, without Python.
//
//     capi=$(python -c 'import onnxruntime; print(onnxruntime.__path__[0])')/capi
//     ln -s "$capi"/libonnxruntime.so.* libonnxruntime.so.1
//     gcc -O2 -Wall train.c libonnxruntime.so.1 -Wl,-rpath,'$ORIGIN' -o train
//     ./train step.onnx batches.f32 weights.txt
//
// The variables of the step are inputs with defaults, whose new values are outputs: `w` and `w.new`.  batches.f32 has the
// float32 numbers of the other inputs, batch after batch.  Prints the first output of each batch, the loss, and writes the
// last weights to weights.txt: a line each, the name and the numbers.

#include "ort.h"

#define MOST 64  // inputs, or variables

// A tensor of the session's input at this place, over memory of its own.
static Value *input(const Session *session, size_t place, const char *name, float **data, size_t *count) {
  Type *type;
  const Shape *shape;
  Memory *memory;
  Value *value;
  int64_t dims[8];
  size_t rank;
  done(api->SessionGetInputTypeInfo(session, place, &type));
  done(api->CastTypeInfoToTensorInfo(type, &shape));
  done(api->GetDimensionsCount(shape, &rank));
  need(rank <= 8, "more than 8 axes: input ", name);
  done(api->GetDimensions(shape, dims, rank));
  for (size_t axis = 0; axis < rank; axis++) need(dims[axis] >= 0, "give the signature of the step all dimensions: input ", name);
  done(api->GetTensorShapeElementCount(shape, count));
  *data = malloc(*count * sizeof(float));
  done(api->CreateCpuMemoryInfo(DEVICE_ALLOCATOR, DEFAULT_MEMORY, &memory));
  done(api->CreateTensorWithDataAsOrtValue(memory, *data, *count * sizeof(float), dims, rank, FLOAT32, &value));
  return value;
}

static float *numbers(Value *value, size_t *count) {
  Shape *shape;
  void *data;
  done(api->GetTensorTypeAndShape(value, &shape));
  done(api->GetTensorShapeElementCount(shape, count));
  done(api->GetTensorMutableData(value, &data));
  return data;
}

int main(int given, char **words) {
  need(given == 4, "usage: ", "train step.onnx batches.f32 weights.txt");
  load_api();

  Env *env;
  Options *options;
  Session *session;
  Allocator *allocator;
  done(api->CreateEnv(WARNINGS, "train", &env));
  done(api->CreateSessionOptions(&options));
  done(api->CreateSession(env, words[1], options, &session));
  done(api->GetAllocatorWithDefaultOptions(&allocator));

  // The values of a run: the batch, then the variables; and its results: the loss, then the new variables.
  char *names[2 * MOST], *results[1 + MOST];
  Value *values[2 * MOST], *found[1 + MOST];
  float *data[MOST];
  size_t sizes[MOST], inputs, variables, count;
  done(api->SessionGetInputCount(session, &inputs));
  done(api->SessionGetOverridableInitializerCount(session, &variables));
  need(inputs <= MOST && variables <= MOST, "more inputs or variables than MOST: ", words[1]);
  for (size_t i = 0; i < inputs; i++) {
    done(api->SessionGetInputName(session, i, allocator, &names[i]));
    values[i] = input(session, i, names[i], &data[i], &sizes[i]);
  }
  done(api->SessionGetOutputName(session, 0, allocator, &results[0]));
  for (size_t i = 0; i < variables; i++) {
    char **name = &names[inputs + i];
    done(api->SessionGetOverridableInitializerName(session, i, allocator, name));
    results[1 + i] = malloc(strlen(*name) + sizeof ".new");
    strcat(strcpy(results[1 + i], *name), ".new");
  }

  FILE *batches = fopen(words[2], "rb");
  need(batches != NULL, "cannot be read: ", words[2]);
  for (int step = 0;; step++) {
    for (size_t i = 0; i < inputs; i++) {
      size_t read = fread(data[i], sizeof(float), sizes[i], batches);
      if (read == 0 && i == 0 && step > 0) goto trained;
      need(read == sizes[i], "ends within a batch: ", words[2]);
    }
    size_t fed = step == 0 ? inputs : inputs + variables;  // the first step has the defaults
    memset(found, 0, sizeof found);
    done(api->Run(session, NULL, (const char *const *)names, (const Value *const *)values, fed, (const char *const *)results, 1 + variables, found));
    printf("%.9g\n", numbers(found[0], &count)[0]);
    api->ReleaseValue(found[0]);
    for (size_t i = 0; i < variables; i++) {
      if (step > 0) api->ReleaseValue(values[inputs + i]);
      values[inputs + i] = found[1 + i];
    }
  }

trained:;
  FILE *weights = fopen(words[3], "w");
  need(weights != NULL, "cannot be written: ", words[3]);
  for (size_t i = inputs; i < inputs + variables; i++) {
    const float *last = numbers(values[i], &count);
    fprintf(weights, "%s", names[i]);
    for (size_t j = 0; j < count; j++) fprintf(weights, " %.9g", last[j]);
    fprintf(weights, "\n");
  }
  need(fclose(weights) == 0, "cannot be written: ", words[3]);
  return 0;
}
