package mine

import "strings"

// Slug is the "owner/name" of a repository's web address, "" for none.
func Slug(url string) string {
	_, rest, ok := strings.Cut(WebURL(url), "://")
	if !ok {
		return ""
	}
	_, slug, _ := strings.Cut(rest, "/")
	return slug
}

func owner(slug string) string {
	name, _, _ := strings.Cut(slug, "/")
	return name
}

// WebURL is the page of a repository by the address of its clone, "" where it
// has none: git@host:o/r.git, ssh://git@host/o/r and https://host/o/r.git are
// https://host/o/r.
func WebURL(remote string) string {
	scheme, rest, ok := strings.Cut(remote, "://")
	if !ok {
		at, path, scp := strings.Cut(remote, ":")
		if !scp || !strings.Contains(at, "@") || strings.Contains(at, "/") {
			return ""
		}
		scheme, rest = "ssh", at+"/"+path
	}
	host, path, _ := strings.Cut(rest, "/")
	host = host[strings.LastIndex(host, "@")+1:]
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	switch scheme {
	case "ssh", "git", "git+ssh":
		host, _, _ = strings.Cut(host, ":")
		scheme = "https"
	case "http", "https":
	default:
		return ""
	}
	if host == "" || path == "" {
		return ""
	}
	return scheme + "://" + host + "/" + path
}

// slugOf is the name of p's repository, by its own address: the repository
// may have been renamed since the user learned its name.
func slugOf(p Pull, o Options) string {
	if repo, _, ok := strings.Cut(p.URL, "/pull/"); ok {
		return Slug(repo)
	}
	return Slug(o.URL)
}

// sameSlug tells whether an issue's repository is the change's own; "" is.
func sameSlug(repo, own string) bool { return repo == "" || strings.EqualFold(repo, own) }
