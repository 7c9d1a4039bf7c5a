# Never run with brew (packaging/README.md). `url` and `sha256` belong to a release that is published; those here are places to fill in.
class Midwatch < Formula
  desc "Runs coding agents headless, records everything they print, stops them with proof"
  homepage "https://example.com/midwatch"
  url "file:///path/to/packed/midwatch-0.1.0.tgz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec.glob("bin/*")
  end

  test do
    assert_match "midwatch", shell_output("#{bin}/midwatch version")
    assert_match "receipt", shell_output("#{bin}/midwatch doctor --self-check")
  end
end
