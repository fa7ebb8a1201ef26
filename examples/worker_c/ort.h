// The part of ONNX Runtime's C API that the workers use, and their way to end with a message.

#ifndef ORT_H
#define ORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef ORT_API_VERSION
#define ORT_API_VERSION 1  // of the declarations below; later versions only append to them
#endif

enum { FLOAT32 = 1, WARNINGS = 2, DEVICE_ALLOCATOR = 0, DEFAULT_MEMORY = 0 };
typedef struct OrtStatus Status;
typedef struct OrtEnv Env;
typedef struct OrtSession Session;
typedef struct OrtSessionOptions Options;
typedef struct OrtAllocator Allocator;
typedef struct OrtMemoryInfo Memory;
typedef struct OrtTypeInfo Type;
typedef struct OrtTensorTypeAndShapeInfo Shape;
typedef struct OrtValue Value;

// The wheel has no header, so this is the part of OrtApi that the programs need; the numbers are the functions' places.
typedef struct {
  void *from_0[2];
  const char *(*GetErrorMessage)(const Status *);
  Status *(*CreateEnv)(int, const char *, Env **);
  void *from_4[3];
  Status *(*CreateSession)(const Env *, const char *, const Options *, Session **);
  Status *(*CreateSessionFromArray)(const Env *, const void *, size_t, const Options *, Session **);
  Status *(*Run)(Session *, const void *, const char *const *, const Value *const *, size_t, const char *const *, size_t, Value **);
  Status *(*CreateSessionOptions)(Options **);
  void *from_11[19];
  Status *(*SessionGetInputCount)(const Session *, size_t *);
  Status *(*SessionGetOutputCount)(const Session *, size_t *);
  Status *(*SessionGetOverridableInitializerCount)(const Session *, size_t *);
  Status *(*SessionGetInputTypeInfo)(const Session *, size_t, Type **);
  void *from_34[2];
  Status *(*SessionGetInputName)(const Session *, size_t, Allocator *, char **);
  Status *(*SessionGetOutputName)(const Session *, size_t, Allocator *, char **);
  Status *(*SessionGetOverridableInitializerName)(const Session *, size_t, Allocator *, char **);
  void *from_39[10];
  Status *(*CreateTensorWithDataAsOrtValue)(const Memory *, void *, size_t, const int64_t *, size_t, int, Value **);
  void *from_50[1];
  Status *(*GetTensorMutableData)(Value *, void **);
  void *from_52[3];
  Status *(*CastTypeInfoToTensorInfo)(const Type *, const Shape **);
  void *from_56[4];
  Status *(*GetTensorElementType)(const Shape *, int *);
  Status *(*GetDimensionsCount)(const Shape *, size_t *);
  Status *(*GetDimensions)(const Shape *, int64_t *, size_t);
  void *from_63[1];
  Status *(*GetTensorShapeElementCount)(const Shape *, size_t *);
  Status *(*GetTensorTypeAndShape)(const Value *, Shape **);
  void *from_66[3];
  Status *(*CreateCpuMemoryInfo)(int, int, Memory **);
  void *from_70[8];
  Status *(*GetAllocatorWithDefaultOptions)(Allocator **);
  void *from_79[17];
  void (*ReleaseValue)(Value *);
  void *from_97[2];
  void (*ReleaseTensorTypeAndShapeInfo)(Shape *);
} Api;
_Static_assert(offsetof(Api, ReleaseTensorTypeAndShapeInfo) == 99 * sizeof(void *), "a place of OrtApi is missing");

typedef struct {
  const Api *(*GetApi)(uint32_t);
  const char *(*GetVersionString)(void);
} ApiBase;
const ApiBase *OrtGetApiBase(void);

static const Api *api;

static void need(int met, const char *what, const char *name) {
  if (met) return;
  fprintf(stderr, "%s%s\n", what, name);
  exit(1);
}

static void done(Status *status) {
  if (status) need(0, "ONNX Runtime: ", api->GetErrorMessage(status));
}

static void load_api(void) {
  api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  need(api != NULL, "build this program for the library's version: its interface is another in ONNX Runtime ", OrtGetApiBase()->GetVersionString());
}

#endif
