#include "train/model.h"
