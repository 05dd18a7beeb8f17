// Package schema reads the files that people write (JSON and YAML) strictly
// and says what is wrong with them, with file and line and all at once; and
// it derives the published JSON Schemas from the same Go types. It never
// expands variables, never follows references, never fills in defaults and
// never looks at another file.
package schema
