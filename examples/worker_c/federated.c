// Takes part in the rounds of a federated server of Dovetail, without Python.
//
//     capi=$(python -c 'import onnxruntime; print(onnxruntime.__path__[0])')/capi
//     ln -s "$capi"/libonnxruntime.so.* libonnxruntime.so.1
//     gcc -O2 -Wall federated.c libonnxruntime.so.1 -lcurl -Wl,-rpath,'$ORIGIN' -o federated
//     ./federated https://127.0.0.1:8443 token.txt certificate.pem data.safetensors last.safetensors
//
// The server gives the ONNX model to compute, and the weights of each round.  The model's other inputs are the tensors of
// data.safetensors, which stay here.  Prints a line for each round, and writes the weights of the end.

#define _GNU_SOURCE  // memmem
#include <curl/curl.h>
#include <unistd.h>

#include "ort.h"

#define MOST 256       // inputs, or outputs
#define LONGEST 65536  // bytes of the header of an update
#define PATIENCE 60    // seconds in which the server may be out of reach

typedef struct {
  char *data;
  size_t size;
} Bytes;

static size_t append(char *data, size_t one, size_t size, void *to) {
  Bytes *bytes = to;
  bytes->data = realloc(bytes->data, bytes->size + size + 1);
  need(bytes->data != NULL, "no memory for ", "an answer");
  memcpy(bytes->data + bytes->size, data, size);
  bytes->data[bytes->size += size] = '\0';
  return one * size;
}

static Bytes read_file(const char *path) {
  Bytes found = {calloc(1, 1), 0};
  char part[65536];
  FILE *file = fopen(path, "rb");
  need(file != NULL, "cannot be read: ", path);
  for (size_t size; (size = fread(part, 1, sizeof part, file)) > 0;) append(part, 1, size, &found);
  fclose(file);
  return found;
}

// -- safetensors -----------------------------------------------------------------------------------------------------

typedef struct {
  const char *name;
  int number;  // in ONNX
  size_t size;
} Kind;
static const Kind kinds[] = {
  {"F32", 1, 4}, {"U8", 2, 1}, {"I8", 3, 1}, {"U16", 4, 2}, {"I16", 5, 2}, {"I32", 6, 4}, {"I64", 7, 8}, {"BOOL", 9, 1},
  {"F16", 10, 2}, {"F64", 11, 8}, {"U32", 12, 4}, {"U64", 13, 8}, {"BF16", 16, 2},
};
#define KINDS (sizeof kinds / sizeof *kinds)

typedef struct {
  const Kind *kind;
  int64_t dims[8];
  size_t rank, size;
  char *data;
} Tensor;

// The header of a file: JSON without spaces, as Dovetail and the safetensors library write it.
static size_t header_of(Bytes file) {
  uint64_t length;
  need(file.size >= 8, "no safetensors: ", "it is too short");
  memcpy(&length, file.data, 8);
  need(length <= file.size - 8, "no safetensors: ", "its header is too long");
  return length;
}

static char *in_header(Bytes file, const char *key) {
  size_t length = header_of(file);
  char *found = memmem(file.data + 8, length, key, strlen(key));
  return found == NULL ? NULL : found + strlen(key);
}

// The tensor with this name; 0 if the file has none.
static int find(Bytes file, const char *name, Tensor *tensor) {
  char key[512], kind[16];
  uint64_t begin, end;
  int used;
  snprintf(key, sizeof key, "\"%s\":{\"dtype\":\"", name);
  char *at = in_header(file, key);
  if (at == NULL) return 0;
  need(sscanf(at, "%15[A-Z0-9_]\",\"shape\":[%n", kind, &used) == 1, "no dtype: ", name);
  at += used;
  tensor->kind = NULL;
  for (size_t i = 0; i < KINDS; i++) if (strcmp(kinds[i].name, kind) == 0) tensor->kind = &kinds[i];
  need(tensor->kind != NULL, "a dtype that this program does not know: ", kind);
  for (tensor->rank = 0; *at != ']'; at += *at == ',') {
    need(tensor->rank < 8, "more than 8 axes: ", name);
    tensor->dims[tensor->rank++] = strtoll(at, &at, 10);
  }
  need(sscanf(at, "],\"data_offsets\":[%lu,%lu]", &begin, &end) == 2, "no offsets: ", name);
  size_t start = 8 + header_of(file);
  need(begin <= end && end <= file.size - start, "offsets beyond the file: ", name);
  tensor->data = file.data + start + begin;
  tensor->size = end - begin;
  return 1;
}

// A safetensors file of the results, `w` for the output `w.new`, with the number of the round.
static Bytes update_of(Value **results, char **names, size_t count, int round) {
  Bytes file = {calloc(1, 1), 0}, body = {calloc(1, 1), 0};
  char text[LONGEST];
  int used = snprintf(text, sizeof text, "{\"__metadata__\":{\"round\":\"%d\"}", round);
  for (size_t i = 0; i < count; i++) {
    Shape *shape;
    int64_t dims[8];
    size_t rank, elements;
    int number;
    void *data;
    done(api->GetTensorTypeAndShape(results[i], &shape));
    done(api->GetTensorElementType(shape, &number));
    done(api->GetDimensionsCount(shape, &rank));
    need(rank <= 8, "more than 8 axes: ", names[i]);
    done(api->GetDimensions(shape, dims, rank));
    done(api->GetTensorShapeElementCount(shape, &elements));
    done(api->GetTensorMutableData(results[i], &data));
    const Kind *kind = NULL;
    for (size_t k = 0; k < KINDS; k++) if (kinds[k].number == number) kind = &kinds[k];
    need(kind != NULL, "a dtype that this program does not know: ", names[i]);
    need(used < LONGEST - 1024, "too many outputs: ", names[i]);
    int length = strlen(names[i]) - strlen(".new");
    used += snprintf(text + used, LONGEST - used, ",\"%.*s\":{\"dtype\":\"%s\",\"shape\":[", length, names[i], kind->name);
    for (size_t axis = 0; axis < rank; axis++) used += snprintf(text + used, LONGEST - used, axis ? ",%ld" : "%ld", dims[axis]);
    size_t end = body.size + elements * kind->size;
    used += snprintf(text + used, LONGEST - used, "],\"data_offsets\":[%zu,%zu]}", body.size, end);
    append(data, 1, elements * kind->size, &body);
    api->ReleaseTensorTypeAndShapeInfo(shape);
  }
  used += snprintf(text + used, LONGEST - used, "}");
  uint64_t length = used;
  append((char *)&length, 1, 8, &file);
  append(text, 1, used, &file);
  append(body.data, 1, body.size, &file);
  free(body.data);
  return file;
}

// -- requests --------------------------------------------------------------------------------------------------------

static const char *url, *certificate;
static struct curl_slist *headers;

// The answer to GET, or to POST with a body; a server out of reach is asked again.
static Bytes ask(const char *path, const Bytes *body, long *status) {
  char address[2048];
  snprintf(address, sizeof address, "%s%s", url, path);
  for (int tries = 0;; tries++) {
    Bytes answer = {calloc(1, 1), 0};
    CURL *curl = curl_easy_init();
    curl_easy_setopt(curl, CURLOPT_URL, address);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
    curl_easy_setopt(curl, CURLOPT_CAINFO, certificate);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, 60L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
    if (body != NULL) {
      curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->data);
      curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->size);
    }
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, status);
    curl_easy_cleanup(curl);
    if (code == CURLE_OK) {
      need(*status == 200 || *status == 204 || *status == 409, "the server refuses: ", answer.data);
      return answer;
    }
    need(tries < PATIENCE && code != CURLE_PEER_FAILED_VERIFICATION, "the server cannot be reached: ", curl_easy_strerror(code));
    free(answer.data);
    sleep(1);
  }
}

int main(int given, char **words) {
  need(given == 6, "usage: ", "federated https://HOST:PORT token.txt certificate.pem data.safetensors last.safetensors");
  url = words[1];
  certificate = words[3];
  Bytes token = read_file(words[2]), data = read_file(words[4]);
  char header[1024];
  snprintf(header, sizeof header, "Authorization: Bearer %.*s", (int)strcspn(token.data, " \r\n"), token.data);
  headers = curl_slist_append(curl_slist_append(NULL, header), "Expect:");
  curl_global_init(CURL_GLOBAL_DEFAULT);
  load_api();

  Env *env;
  Options *options;
  Session *session;
  Allocator *allocator;
  Memory *memory;
  Tensor model, tensor;
  long status;
  Bytes package = ask("/computation", NULL, &status);
  need(find(package, "client.onnx", &model), "no ONNX model: ", in_header(package, "no_onnx") ? package.data + 8 : "");
  done(api->CreateEnv(WARNINGS, "federated", &env));
  done(api->CreateSessionOptions(&options));
  done(api->CreateSessionFromArray(env, model.data, model.size, options, &session));
  done(api->GetAllocatorWithDefaultOptions(&allocator));
  done(api->CreateCpuMemoryInfo(DEVICE_ALLOCATOR, DEFAULT_MEMORY, &memory));
  char *names[MOST], *results[MOST];
  size_t inputs, outputs;
  done(api->SessionGetInputCount(session, &inputs));
  done(api->SessionGetOutputCount(session, &outputs));
  need(inputs <= MOST && outputs <= MOST, "more inputs or outputs than MOST: ", "the model");
  for (size_t i = 0; i < inputs; i++) done(api->SessionGetInputName(session, i, allocator, &names[i]));
  for (size_t i = 0; i < outputs; i++) done(api->SessionGetOutputName(session, i, allocator, &results[i]));

  for (;;) {
    Bytes weights = ask("/weights", NULL, &status);
    if (status == 204) {  // the others are not ready
      free(weights.data);
      continue;
    }
    if (in_header(weights, "\"done\":\"true\"") != NULL) {
      FILE *last = fopen(words[5], "wb");
      need(last != NULL && fwrite(weights.data, 1, weights.size, last) == weights.size && fclose(last) == 0, "cannot be written: ", words[5]);
      return 0;
    }
    char *at = in_header(weights, "\"round\":\"");
    need(at != NULL, "no round: ", "the weights");
    int round = atoi(at);
    Value *values[MOST], *found[MOST] = {NULL};
    for (size_t i = 0; i < inputs; i++) {
      need(find(weights, names[i], &tensor) || find(data, names[i], &tensor), "data.safetensors lacks the tensor ", names[i]);
      done(api->CreateTensorWithDataAsOrtValue(memory, tensor.data, tensor.size, tensor.dims, tensor.rank, tensor.kind->number, &values[i]));
    }
    done(api->Run(session, NULL, (const char *const *)names, (const Value *const *)values, inputs, (const char *const *)results, outputs, found));
    Bytes update = update_of(found, results, outputs, round);
    Bytes answer = ask("/update", &update, &status);
    printf("round %d: %s\n", round + 1, status == 200 ? "sent" : "too late");
    fflush(stdout);
    for (size_t i = 0; i < inputs; i++) api->ReleaseValue(values[i]);
    for (size_t i = 0; i < outputs; i++) api->ReleaseValue(found[i]);
    free(update.data);
    free(answer.data);
    free(weights.data);
  }
}
