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
)

// similar returns the names that may be meant by a text, as cobra finds them for the names of commands.
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

// didYouMean returns the end of an error's text: the names that may have been meant, or all of them if they are few. It
// is empty if text is one of the names.
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

// subcommand is the check of the arguments of a command that only groups others. Words of kubectl's are answered with
// the command to type.
func subcommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], c.CommandPath())
	instead := map[string]string{"get": "tree", "describe": "tree", "logs": "journal", "status": "doctor"}[args[0]]
	if nouns := c.SuggestionsFor(append(args, "")[1]); instead == "tree" && len(args) > 1 && len(nouns) > 0 {
		instead = nouns[0] + " list" // get disks
	}
	if instead != "" && !c.HasParent() {
		return fmt.Errorf("%s; type %s %s", text, c.Name(), instead)
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "completion" {
			names = append(names, sub.Name())
		}
	}
	if near := didYouMean(args[0], names); near != "" {
		return errors.New(text + near)
	}
	return errors.New(text + "; there are: " + strings.Join(names, ", "))
}

// unknownFlag adds to the error of an unknown flag the flags that may have been meant.
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

// meant returns the end of the text of a call that failed because it names something that is not there: what may have
// been meant instead, of the names that completion offers for the command's arguments.
func (a *connection) meant(ctx context.Context) string {
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
	return ""
}
