// The CUDA engine of another build: its entry has another name.

extern "C" const void* DetcheckCudaPlugin() {
  return nullptr;
}
