package grade

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// field is one member of a JSON object.
type field struct {
	key   string
	value json.RawMessage
}

// members reads a JSON object in order. ok is false for anything else and for
// an object with a key twice.
func members(data []byte) (out []field, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		tok, err := dec.Token()
		key, isText := tok.(string)
		if err != nil || !isText || slices.ContainsFunc(out, func(f field) bool { return f.key == key }) {
			return nil, false
		}
		f := field{key: key}
		if err := dec.Decode(&f.value); err != nil {
			return nil, false
		}
		out = append(out, f)
	}
	_, err := dec.Token()
	return out, err == nil && !dec.More()
}

// steering are the keys of package.json that decide how tests run.
func steering(key string) bool {
	return slices.Contains([]string{"scripts", "jest", "mocha", "vitest", "ava", "tap", "nyc", "c8", "jasmine", "karma"}, key)
}

// packageJSON puts the scripts and test settings of base into after; other
// edits stay. Without a difference in them after stays byte for byte, else it
// is laid out anew.
func packageJSON(base, after []byte) (merged []byte, ok bool) {
	var was []field
	if len(base) > 0 {
		if was, ok = members(base); !ok {
			return nil, false
		}
	}
	is, ok := members(after)
	if !ok {
		return nil, false
	}
	if sameSteering(was, is) {
		return after, true
	}
	var out []field
	for _, f := range is {
		if !steering(f.key) {
			out = append(out, f)
		} else if old := valueOf(was, f.key); old != nil {
			out = append(out, field{f.key, old})
		}
	}
	for _, f := range was {
		if steering(f.key) && valueOf(is, f.key) == nil {
			out = append(out, f)
		}
	}
	return writeObject(out), true
}

func valueOf(fields []field, key string) json.RawMessage {
	for _, f := range fields {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

func sameSteering(a, b []field) bool {
	for _, f := range slices.Concat(a, b) {
		if steering(f.key) && compact(valueOf(a, f.key)) != compact(valueOf(b, f.key)) {
			return false
		}
	}
	return true
}

func compact(v json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return string(v)
	}
	return b.String()
}

func writeObject(fields []field) []byte {
	var flat, b bytes.Buffer
	flat.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			flat.WriteByte(',')
		}
		key, err := json.Marshal(f.key)
		if err != nil {
			continue
		}
		flat.Write(key)
		flat.WriteByte(':')
		flat.Write(f.value)
	}
	flat.WriteByte('}')
	if json.Indent(&b, flat.Bytes(), "", "  ") != nil {
		return flat.Bytes()
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// section is a part of an INI or TOML file: the text from its header to the
// next one. The part before the first header has no name.
type section struct {
	name string
	text string
}

// sections cuts a file at its headers. Names lose blanks and quotes.
func sections(data []byte) []section {
	header := regexp.MustCompile(`^\s*\[\[?([^\[\]]+)\]\]?\s*(?:[#;].*)?$`)
	trim := strings.NewReplacer(" ", "", "\t", "", `"`, "", "'", "")
	out := []section{{}}
	for _, line := range strings.SplitAfter(string(data), "\n") {
		if m := header.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
			out = append(out, section{name: trim.Replace(m[1])})
		}
		out[len(out)-1].text += line
	}
	return out
}

// iniFile puts the pytest sections of base's setup.cfg or tox.ini into after.
func iniFile(base, after []byte) (merged []byte, ok bool) {
	return swap(sections(base), sections(after), func(name string) bool { return name == "tool:pytest" || name == "pytest" }), true
}

// pyproject does the same for pyproject.toml. ok is false where the file
// could hold pytest's settings in another way than as sections, or text that
// only looks like a header.
func pyproject(base, after []byte) (merged []byte, ok bool) {
	b, a := sections(base), sections(after)
	if tricky(string(base), b) || tricky(string(after), a) {
		return nil, false
	}
	return swap(b, a, func(name string) bool { return name == "tool.pytest" || strings.HasPrefix(name, "tool.pytest.") }), true
}

func tricky(text string, parts []section) bool {
	if strings.Contains(text, `"""`) || strings.Contains(text, "'''") {
		return true
	}
	dotted := regexp.MustCompile(`(?m)^\s*["']?tool["']?\s*[.=]`)
	for i, s := range parts {
		if s.name == "tool" || strings.Contains(s.name, `\`) || i == 0 && dotted.MatchString(s.text) {
			return true
		}
	}
	return false
}

// swap takes the sections that mine names out of after and appends those of
// base; where they are the same, after stays byte for byte.
func swap(base, after []section, mine func(string) bool) []byte {
	var all, rest, old, now strings.Builder
	for _, s := range after {
		all.WriteString(s.text)
		if mine(s.name) {
			now.WriteString(strings.TrimSpace(s.text) + "\n")
		} else {
			rest.WriteString(s.text)
		}
	}
	for _, s := range base {
		if mine(s.name) {
			old.WriteString(strings.TrimSpace(s.text) + "\n")
		}
	}
	if old.String() == now.String() {
		return []byte(all.String())
	}
	out := rest.String()
	if old.Len() > 0 && out != "" && !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	if old.Len() > 0 && out != "" {
		out += "\n"
	}
	return []byte(out + old.String())
}
