// The public API of gradwire, and all that is installed: codecs (codec/), frames (wire/),
// compressed means (collective/) over transports (transport/), methods around them (method/), and
// .gw files (file/), with the errors, random numbers and threads that they take (core/).
#pragma once

#include "gradwire/codec/codec.h"
#include "gradwire/codec/guarantee.h"
#include "gradwire/codec/spec.h"
#include "gradwire/codec/workspace.h"
#include "gradwire/collective/communicator.h"
#include "gradwire/collective/exchange.h"
#include "gradwire/core/error.h"
#include "gradwire/core/expected.h"
#include "gradwire/core/random.h"
#include "gradwire/core/thread_pool.h"
#include "gradwire/file/gw_file.h"
#include "gradwire/file/gw_format.h"
#include "gradwire/file/npy.h"
#include "gradwire/file/tensor.h"
#include "gradwire/file/tensor_file.h"
#include "gradwire/method/method.h"
#include "gradwire/method/plan_note.h"
#include "gradwire/method/state.h"
#include "gradwire/method/state_file.h"
#include "gradwire/transport/gloo.h"
#include "gradwire/transport/in_process.h"
#include "gradwire/transport/mpi.h"
#include "gradwire/transport/transport.h"
#include "gradwire/wire/frame.h"
