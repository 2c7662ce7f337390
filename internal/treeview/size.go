// SPDX-License-Identifier: Apache-2.0

package treeview

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// units returns the binary units, from the smallest.
func units() []string { return []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"} }

// Size writes a number of bytes for people: three digits at least, one after the point at most, in the largest unit
// that leaves a whole part: "64 GiB", "63.9 GiB", "1023 MiB". It rounds down, so that nothing looks larger than it is.
func Size(bytes int64) string {
	if bytes < 0 {
		return "-" + Size(-max(bytes, -1<<62))
	}
	unit, n := 0, bytes
	for n >= 1024 && unit < len(units())-1 {
		n /= 1024
		unit++
	}
	tenths := int64(0)
	if unit > 0 {
		tenths = (bytes >> (10 * (unit - 1)) & 1023) * 10 / 1024
	}
	if tenths == 0 || n >= 1000 {
		return fmt.Sprintf("%d %s", n, units()[unit])
	}
	return fmt.Sprintf("%d.%d %s", n, tenths, units()[unit])
}

// ParseSize reads a number of bytes as people write it: 21474836480, 20Gi, 20GiB, 1.5Gi, and with decimal units 20G,
// 20GB. It fails if the result is not a positive whole number of bytes that an int64 holds.
func ParseSize(text string) (int64, error) {
	trimmed := strings.TrimSuffix(text, "B")
	number, factor := trimmed, big.NewRat(1, 1)
	for i, prefix := range []string{"K", "M", "G", "T", "P", "E"} {
		for _, unit := range []struct {
			suffix string
			base   int64
		}{{prefix + "i", 1024}, {prefix, 1000}} {
			if rest, ok := strings.CutSuffix(trimmed, unit.suffix); ok {
				number = rest
				factor.SetInt(new(big.Int).Exp(big.NewInt(unit.base), big.NewInt(int64(i+1)), nil))
			}
		}
	}
	value, ok := new(big.Rat), number != "" && len(number) <= 40 && strings.Trim(number, "0123456789.") == ""
	if ok {
		_, ok = value.SetString(number)
	}
	if !ok {
		return 0, fmt.Errorf("%s is not a size; write bytes, or a unit such as 20Gi", strconv.Quote(text))
	}
	value.Mul(value, factor)
	if !value.IsInt() || !value.Num().IsInt64() || value.Sign() <= 0 {
		return 0, fmt.Errorf("%s is not a size: it must be a whole, positive number of bytes below 8 EiB",
			strconv.Quote(text))
	}
	return value.Num().Int64(), nil
}
