// Empty: its presence lets view.go declare a function whose body is in another package.
