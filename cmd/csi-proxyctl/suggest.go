// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/similar"
)

// complete makes the shell complete a flag with fixed values. A flag that the command lacks is a panic.
func complete(c *cobra.Command, flag string, values ...string) {
	err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err)
	}
}

// completeCalls completes the flags that select calls by their function or their method.
func completeCalls(c *cobra.Command) {
	complete(c, "function", kernel.Functions()...)
	complete(c, "method", faults.Masks(faults.Methods())...)
}

// plainUsages takes the backquotes, which mark a value's name in the help, out of the usages of all flags. Cobra
// completes flags with their usages as they are.
func plainUsages(c *cobra.Command) {
	plain := func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") }
	c.Flags().VisitAll(plain)
	c.PersistentFlags().VisitAll(plain)
	for _, sub := range c.Commands() {
		plainUsages(sub)
	}
}

// namesOf returns the names, or another property, of objects.
func namesOf[T, N any](objects []T, name func(T) N) []N {
	list := []N{}
	for _, object := range objects {
		list = append(list, name(object))
	}
	return list
}

// didYouMean returns the end of an error's text: similar names, or all names if they are at most six.
func didYouMean(text string, names []string) string {
	meant := similar.Meant(text, names)
	if meant == "" && len(names) > 0 && len(names) <= 6 {
		meant = "; there are: " + strings.Join(names, ", ")
	}
	return meant
}

// subcommand checks the arguments of a command that only groups others, and suggests what was meant.
func subcommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names, lists, meant []string
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() || sub.Name() == "completion" {
			continue
		}
		names = append(names, sub.Name())
		if list, _, err := sub.Find([]string{"list"}); err == nil && list.Name() == "list" {
			lists = append(lists, sub.Name()+" list")
		}
		if slices.Contains(sub.SuggestFor, args[0]) {
			meant = append(meant, sub.Name())
		}
	}
	switch nouns := similar.Names(strings.Join(args[1:min(2, len(args))], "")+" list", lists); {
	case args[0] == "list" || args[0] == "ls":
		meant = lists
	case args[0] == "get" && len(nouns) > 0: // as kubectl has it: get disks
		meant = nouns
	case len(meant) == 0:
		meant = similar.Names(args[0], names)
	}
	text, to := fmt.Sprintf("unknown command %q for %q", args[0], c.CommandPath()), c.CommandPath()+" "
	if len(meant) > 0 {
		return fmt.Errorf("%s; did you mean %s%s?", text, to, strings.Join(meant, " or "+to))
	}
	return fmt.Errorf("%s; there are: %s", text, strings.Join(names, ", "))
}

// flagError adds similar flags to the error of an unknown flag, and examples to that of a duration.
func flagError(c *cobra.Command, err error) error {
	unknown, invalid := (*pflag.NotExistError)(nil), (*pflag.InvalidValueError)(nil)
	if errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "duration" {
		return fmt.Errorf("--%s %q is not a duration such as 30s or 5m", invalid.GetFlag().Name, invalid.GetValue())
	}
	if errors.As(err, &invalid) && strings.Contains(invalid.GetFlag().Value.Type(), "int") {
		return fmt.Errorf("--%s %q is not a number, or too large a one", invalid.GetFlag().Name, invalid.GetValue())
	}
	if !errors.As(err, &unknown) {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return fmt.Errorf("%w%s", err, similar.Meant("--"+unknown.GetSpecifiedName(), names))
}
