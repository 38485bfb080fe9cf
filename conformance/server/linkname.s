// Empty on purpose: with an assembly file present the compiler accepts functions without a body,
// which is what the linknames in controller.go declare.
