#ifdef AT_PER_OPERATOR_HEADERS
${includes}
#else
#include <ATen/Operators.h>
#endif
