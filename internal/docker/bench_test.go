package docker

import (
	"os/exec"
	"testing"

	"github.com/assaybot/assay/internal/run"
)

// BenchmarkBox is a box that runs true and closes; BenchmarkBare is what the
// engine's own tool takes for as much.
func BenchmarkBox(b *testing.B) {
	program, err := testProgram()
	if err != nil {
		b.Fatal(err)
	}
	s, err := New(b.Context(), Options{Program: program, Run: unique("bench")})
	if err != nil {
		b.Skip("no Docker engine: ", err)
	}
	defer func() { _ = s.Close(b.Context()) }()
	img, err := s.lookUp(b.Context(), testImage)
	if err != nil {
		b.Skip("no image: ", err)
	}
	if _, err := s.programVolume(b.Context(), img.Ref); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		box, err := s.Open(b.Context(), run.BoxSpec{Image: img, MemoryWorkspace: true})
		if err != nil {
			b.Fatal(err)
		}
		if x, err := box.Run(b.Context(), run.Command{Argv: []string{"true"}}); err != nil || x.Code != 0 {
			b.Fatal(x, err)
		}
		if err := box.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBare(b *testing.B) {
	if exec.Command("docker", "image", "inspect", testImage).Run() != nil {
		b.Skip("no image")
	}
	for b.Loop() {
		if err := exec.Command("docker", "run", "--rm", "--network", "none", testImage, "true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}
