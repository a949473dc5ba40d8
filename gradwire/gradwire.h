// The public API of gradwire, and all that is installed: codecs (codec/), frames (wire/) and .gw
// files (file/), with the errors, random numbers and threads that they take (core/).
#pragma once

#include "gradwire/codec/codec.h"
#include "gradwire/codec/guarantee.h"
#include "gradwire/codec/spec.h"
#include "gradwire/codec/workspace.h"
#include "gradwire/core/error.h"
#include "gradwire/core/expected.h"
#include "gradwire/core/random.h"
#include "gradwire/core/thread_pool.h"
#include "gradwire/file/gw_file.h"
#include "gradwire/file/gw_format.h"
#include "gradwire/file/npy.h"
#include "gradwire/file/tensor.h"
#include "gradwire/file/tensor_file.h"
#include "gradwire/wire/frame.h"
