// A DLL holds at most 65536 symbols, so that of each class only the constructor is exported on Windows.
#ifdef _WIN32
#define NODE_CLASS
#define NODE_CONSTRUCTOR TORCH_API
#else
#define NODE_CLASS TORCH_API
#define NODE_CONSTRUCTOR
#endif
