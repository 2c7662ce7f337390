// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/methods"
	"github.com/kubernetes-csi/csi-proxy/internal/policy"
)

// similar returns at most three names that are similar to a text, as cobra finds them for the names of commands.
func similar(text string, names []string) []string {
	all := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, name := range names {
		if !strings.Contains(name, " ") { // where the name of a command would end
			all.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
		}
	}
	if text == "" {
		return nil
	}
	found := all.SuggestionsFor(text)
	return found[:min(len(found), 3)]
}

// didYouMean returns the end of an error's text: similar names, or all names if they are at most six. It is empty if
// text is one of the names.
func didYouMean(text string, names []string) string {
	if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, text) }) {
		return ""
	}
	if near := similar(text, names); len(near) > 0 {
		return "; did you mean " + strings.Join(near, " or ") + "?"
	}
	if len(names) <= 6 {
		return "; there are: " + strings.Join(names, ", ")
	}
	return ""
}

// subcommand checks the arguments of a command that only groups others. It uses cobra's own suggestions.
func subcommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], c.CommandPath())
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("%s; did you mean %s?", text, strings.Join(near, " or "))
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "completion" {
			names = append(names, sub.Name())
		}
	}
	return fmt.Errorf("%s; there are: %s", text, strings.Join(names, ", "))
}

// unknownFlag adds similar flags to the error of an unknown flag.
func unknownFlag(c *cobra.Command, err error) error {
	unknown := (*pflag.NotExistError)(nil)
	if !errors.As(err, &unknown) {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := similar(unknown.GetSpecifiedName(), names); len(near) > 0 {
		return fmt.Errorf("%w; did you mean --%s?", err, strings.Join(near, " or --"))
	}
	return err
}

// suggestion returns the end of the text of a call that failed because it names an unknown object: similar names, from
// the completions of the command's arguments and of its flags that select calls.
func (a *connection) suggestion(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), completionTime)
	defer cancel()
	for i, of := range a.takes[a.running] {
		if i >= len(a.args) || of.name == "DISK" { // diskIn and advice speak of disks
			continue
		}
		if typed, names := of.names(ctx, a, a.args[:i+1]); didYouMean(typed, names) != "" {
			return didYouMean(typed, names)
		}
	}
	function, _ := a.running.Flags().GetString("function")
	method, _ := a.running.Flags().GetString("method")
	_, suggestion := unknownCalls(function, method)
	return suggestion
}

// unknownCalls returns an error's text and a suggestion if no kernel function or no method has the name. Both are empty
// if there are such calls.
func unknownCalls(function, method string) (text, suggestion string) {
	isFunction := func(f string) bool { return strings.EqualFold(f, function) }
	if function != "" && !slices.ContainsFunc(kernel.Functions(), isFunction) {
		return fmt.Sprintf("there is no kernel function %q", function), didYouMean(function, kernel.Functions())
	}
	mask, err := methods.Parse(method)
	if method == "" || err != nil || slices.ContainsFunc(policy.Methods(), mask.Match) {
		return "", ""
	}
	return fmt.Sprintf("no method is called %q", method), didYouMean(method, masks())
}
