// Specs of models and what they refuse.
#include "train/design.h"

#include "gradwire/core/error.h"
#include "gradwire/file/test_directory.h"
#include "gtest/gtest.h"
#include "train/model_test_support.h"

namespace gradwire::train {
namespace {

TEST(ModelSpec, IsCanonical) {
  for (const char* spec :
       {"mlp(hidden=512)", "mlp(hidden=32, layers=3, dropout=0.5)", "cnn(channels=16, hidden=256)",
        "resnet20", "resnet18(width=64)", "transformer(layers=4, heads=4, width=128)",
        "transformer(layers=1, heads=2, width=8, dropout=0.1, tied=on)"}) {
    EXPECT_EQ(parse_model(spec).spec, spec);
  }
  EXPECT_EQ(parse_model("mlp").spec, "mlp(hidden=512)");
  EXPECT_EQ(parse_model("mlp(dropout=10%, layers=1)").spec, "mlp(hidden=512, dropout=0.1)");
  EXPECT_EQ(parse_model("cnn").spec, "cnn(channels=16, hidden=256)");
  EXPECT_EQ(parse_model("transformer(tied=off)").spec, "transformer(layers=4, heads=4, width=128)");
  EXPECT_EQ(make_model("mlp", image_shape(1, 4), 1)->spec(), "mlp(hidden=512)");
}

TEST(ModelSpec, WrongOnesShowThePosition) {
  const auto message = [](const char* text) {
    return message_of<SpecError>([&] { parse_model(text); });
  };
  EXPECT_EQ(message("resnet81"),
            "there is no model called 'resnet81'; did you mean 'resnet18'?\n  resnet81\n  ^");
  EXPECT_EQ(message("mlp(hidden=0)"),
            "'hidden' must be a whole number from 1 to 65536\n  mlp(hidden=0)\n             ^");
  EXPECT_EQ(message("transformer(heads=3)"),
            "'width' must be a multiple of the 3 heads\n  transformer(heads=3)\n  ^");
  EXPECT_EQ(message("mlp(dropout=1)"),
            "'dropout' must be a number from 0 to 0.95\n  mlp(dropout=1)\n              ^");
  EXPECT_NE(message("resnet20(width=2)"), "");
  EXPECT_NE(message("cnn(chanels=2)"), "");
  EXPECT_NE(message("transformer(tied=yes)"), "");
  EXPECT_NE(message("mlp | cnn"), "");
  EXPECT_NE(message(""), "");
}

TEST(ModelShape, WrongOnesSayWhatTheModelTakesAndWhichToTake) {
  const auto message = [](const char* spec, const data::SampleShape& shape) {
    return message_of<Error>([&] { make_model(spec, shape, 1); });
  };
  const data::SampleShape features{
      .kind = data::SampleShape::Kind::features, .width = 123, .classes = 2};
  EXPECT_EQ(message("cnn", text_shape(128, 65)),
            "the model cnn takes images of at least 4 x 4 pixels, and these samples are text of "
            "128 tokens: take transformer");
  EXPECT_EQ(message("resnet20", features),
            "the model resnet20 takes images of at least 16 x 16 pixels, and these samples are "
            "123 features each: take mlp");
  EXPECT_EQ(message("resnet18(width=8)", image_shape(1, 8)),
            "the model resnet18 takes images of at least 16 x 16 pixels, and these samples are "
            "images of 8 x 8 pixels: take mlp or cnn");
  EXPECT_EQ(message("transformer", image_shape(1, 28)),
            "the model transformer takes text, and these samples are images of 28 x 28 pixels: "
            "take mlp, cnn, resnet20 or resnet18");
  EXPECT_EQ(message("mlp", text_shape(128, 65)),
            "the model mlp takes images or features, and these samples are text of 128 tokens: "
            "take transformer");
}

TEST(ModelShape, TooManyParametersAreAnErrorBeforeTheyAreMemory) {
  EXPECT_THROW(make_model("mlp(hidden=65536, layers=64)", image_shape(1, 28), 1), Error);
}

}  // namespace
}  // namespace gradwire::train
