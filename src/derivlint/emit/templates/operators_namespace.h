namespace ${name} {

// What else the author has there.
using namespace ::${name};

namespace {

${functions}

} // namespace
} // namespace ${name}
