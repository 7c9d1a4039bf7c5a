/** What looks like a secret to a hasty reader and is none. One a line; `{h40}` as in secret-formats.ts. */
import { pick, random } from "./random.ts";

const UUID = "{h8}-{h4}-{h4}-{h4}-{h12}";
/** Each of these in several makings, because what is random must never hit. */
const RANDOM = `
commit {h40}
{h40} refs/heads/main
index {h7}..{h7} 100644
{h64}  package.tar.gz
sha256:{h64}
docker.io/library/node@sha256:{h64}
"integrity": "sha512-{b86}=="
"integrity":"sha1-{b27}="
"resolved": "https://registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz#{h40}"
h1:{b43}=
id: ${UUID}
{"uuid":"${UUID}","session_id":"${UUID}"}
{"type":"tool_use","id":"toolu_{a24}","name":"Bash"}
{"id":"msg_{a24}","role":"assistant"}
{"id":"chatcmpl-{a29}","object":"chat.completion"}
"request_id":"req_{a24}"
"id": "call_{a24}"
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA{b200}
<img src="data:image/gif;base64,R0lGODlh{b120}">
url(data:font/woff2;base64,d09GMgAB{b160})
{b76}
{b300}
ETag: "{h32}"
X-Request-Id: ${UUID}
traceparent: 00-{h32}-{h16}-01
/tmp/tmp.{a10}/out.txt
/nix/store/{l32}-bash-5.2
cache-{h64}.json
chunk-{u8}.js
main.{h20}.js
key-{h8}.pem
object {h40} blob
boot_id ${UUID}
"nonce": "{h32}"
"fingerprint": "{h64}"
SHA256:{b43}
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b43} user@host
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
cache_key: "{h40}"
"nextPageToken": "{a24}"
primary_key = {n8}
partitionKey={h16}
"public_key": "{b43}="
`;

/** As they are. */
const PLAIN = String.raw`
password = getPassword()
const password = await readPassword(prompt);
password: string;
token: string
token?: string | undefined;
apiKey: process.env.API_KEY,
secret = os.environ["SECRET"]
SECRET_KEY = os.environ.get("SECRET_KEY")
secret: ${"$"}{SECRET}
password: "${"$"}{DB_PASSWORD}"
TOKEN=$(cat token.txt)
export GITHUB_TOKEN=$GH_TOKEN
API_KEY=${"$"}{API_KEY:?missing}
password=<password>
token: <your token>
api_key = "YOUR_API_KEY"
apiKey: "your-api-key-here"
password: changeme
password: "changeme"
"password": "********"
secret=xxxxxxxxxxxx
token = "test-token"
token: 'fake-token'
"secret": "dummy-secret"
password=password
connect(user=user, password=password)
login(token=token, retries=3)
self.token = token
this.password = password;
if (password === confirmPassword) return;
assert token == expected_token
"password": "Password"
"password": "Passwort"
"forgot_password": "Forgot your password?"
"password": {"type": "string"}
"token": {"type": "string", "minLength": 10}
<input type="password" name="password" placeholder="Password">
<label for="password">Password</label>
autocomplete="current-password"
tokens: 1234
"input_tokens":12345,"output_tokens":678
max_tokens=4096
"max_output_tokens": 128000
token_type: bearer
"token_type": "Bearer"
the token is 12 characters long
the password must contain a digit
Error: invalid token: unexpected end
SyntaxError: Unexpected token < in JSON
Unexpected token: punc (,)
secretary of state
basic authentication is required
Bearer authentication
Authorization: Bearer <token>
Authorization: Bearer ${"$"}{token}
Authorization: Bearer $TOKEN
headers: { Authorization: "Bearer " + token }
"Authorization": f"Bearer {token}"
www-authenticate: Basic realm="Restricted"
key: value
key=value
const key = keys[i];
for (const [key, value] of Object.entries(x))
keyboard: us-international
"key": "ctrl+shift+p"
primaryKey: true
foreign_key: users.id
sort_key="created_at"
public_key: ssh-rsa
publicKey.export({ type: "spki", format: "pem" })
generateKeyPairSync("rsa", { modulusLength: 2048 })
"jsonwebtoken": "^9.0.2"
"@types/jsonwebtoken": "9.0.6",
"csrf-token": "1.2.3"
"passport-oauth2": "^1.8.0"
"keytar": "7.9.0"
"eslint-plugin-no-secrets": "^1.0.2"
npm install sk-learn-wrapper
pip install scikit-learn==1.4.2
.sk-folding-cube .sk-cube2:before { transform: rotate(90deg) }
sk-spinner-double-bounce-animation-delay
lang="sk-SK"
pk-constraint-name-on-table-users
risk-based-authentication-method-selector
task-queue-worker-pool-scheduler-name
desk-reservation-system-frontend-app
npm_config_user_agent
npm_package_json
npm_lifecycle_event=test
hf_transformers
ghp_
AKIA
AKIAEXAMPLE
xoxb-
eyJ
SG.
glpat-
github_pat_
AIza
-----BEGIN RSA PRIVATE KEY-----
text.startsWith("-----BEGIN PRIVATE KEY-----") && text.endsWith("-----END PRIVATE KEY-----")
if grep -q "BEGIN OPENSSH PRIVATE KEY" "$file"; then
GITHUB_TOKEN
ANTHROPIC_API_KEY
AWS_SECRET_ACCESS_KEY
OPENAI_API_KEY is not set
env: [GITHUB_TOKEN, NPM_TOKEN]
unset AWS_SESSION_TOKEN
process.env.GITHUB_TOKEN
os.getenv("DATABASE_PASSWORD")
System.getenv("API_SECRET")
ENV['SECRET_KEY_BASE']
${"$"}{{ secrets.GITHUB_TOKEN }}
token: ${"$"}{{ secrets.NPM_TOKEN }}
{{ .Values.password }}
password: {{ db_password }}
password: !vault |
secretName: app-tls-secret
secretKeyRef:
  name: db-credentials
  key: password
valueFrom: { secretKeyRef: { name: db, key: password } }
imagePullSecrets: [{ name: registry }]
KEY_FILE=/etc/ssl/private/server.key
SSL_KEY=/etc/ssl/private/key.pem
SSH_AUTH_SOCK=/tmp/ssh-XXXX/agent.1
token_file: /var/run/secrets/token
password_file=/run/secrets/db
tokenUrl: https://example.org/oauth/token
TOKEN_URL=https://example.org/oauth/token
secret: https://example.org/docs/secrets
https://example.org:8443/a/b?c=d
https://example.org/a:b@c
https://user@example.org/path
ssh://git@github.com/owner/name.git
git@github.com:owner/name.git
http://localhost:3000/login?next=/home
postgres://localhost:5432/app
postgres://${"$"}{USER}:${"$"}{PASSWORD}@localhost/app
mongodb://<user>:<password>@cluster0.example.org/test
redis://localhost:6379/0
amqp://rabbitmq:5672
file:///home/user/project/src/core/secret.ts
src/core/secret-values.ts
test/attack/masks.test.ts
docs/tokens.md
import { token } from "./token.ts";
import secrets
from secrets import token_hex
secrets.token_urlsafe(32)
crypto.randomBytes(32).toString("hex")
token = secrets.token_hex(16)
const token = crypto.randomUUID();
const token = jwt.sign(payload, privateKey);
jwt.verify(token, secret)
let secret = generateSecret();
var apiKey = config.apiKey;
api_key = settings.API_KEY
api_key=None
api_key=api_key
password = None
password: null
password: undefined
password: true
secret: false
private String password;
public String getPassword() { return password; }
func (c *Client) SetToken(token string) {
fn token(&self) -> Option<&str>
type Token = string;
interface Credentials { username: string; password: string }
class Token(BaseModel):
password: str = Field(..., min_length=8)
secret: Optional[str] = None
api_key: SecretStr
token: Token
token := lexer.Next()
case "token": return parseToken(next);
case TokenKind.Identifier:
switch (token.kind)
tokens.push({ type: "ident", value })
[token] = parts;
eos_token: </s>
pad_token="[PAD]"
"cls_token": "[CLS]"
"unk_token": "<unk>"
tokenizer: cl100k_base
cancellationToken: CancellationToken.None
design-token: color-primary-500
--color-primary-500: #0f172a;
#deadbeef
0xdeadbeefcafebabe
1.2.3-beta.4+build.567
v1.0.0-rc.1
node-v24.1.0-linux-x64
2026-11-18T13:04:52.123Z
1763471092123
192.168.0.1:8080
2001:db8::8a2e:370:7334
aa:bb:cc:dd:ee:ff
+49 30 1234567
4111-1111
ISBN 978-3-16-148410-0
DE89 3704 0044 0532 0130 00
lorem ipsum dolor sit amet consectetur
The quick brown fox jumps over the lazy dog
supercalifragilisticexpialidocious
Donaudampfschifffahrtsgesellschaft
aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
0000000000000000000000000000000000000000
================================
--------------------------------
!function(e,t){"object"==typeof exports?module.exports=t():e.key=t()}(this,function(){return 1});
var a=b.token,c=b.key;for(d in e)f[d]=e[d].secret||g;
e.exports={password:n,token:r,key:o,secret:i}
const{apiKey:e,secretKey:t}=n;return e&&t
{"key":"Enter","code":"Enter","keyCode":13}
{"token":"function","scopes":["storage.type"]}
if(t.key==="Escape"||t.key==="Enter")return
R2D2-C3PO-BB8
ABCDEFGHIJKLMNOPQRSTUVWXYZ
abcdefghijklmnopqrstuvwxyz0123456789
UPPER_SNAKE_CASE_CONSTANT_NAME
camelCaseIdentifierThatIsQuiteLong
com.example.project.module.ClassName
org.springframework.security.crypto.password.PasswordEncoder
node_modules/.pnpm/jsonwebtoken@9.0.2/node_modules/jsonwebtoken
/usr/lib/x86_64-linux-gnu/libsecret-1.so.0
libpam-passwdqc/stable 2.0.2-1 amd64
arn:aws:iam::123456789012:role/deploy
arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-AbCdEf
s3://bucket/prefix/key=value/part-0000.parquet
projects/p/secrets/s/versions/latest
vault:secret/data/app#password
op://vault/item/password
100% done, 50%25 left
%20%2F%3A
a%3Db%26c%3Dd
\u0041\u0042\u0043
\n\t\r\"\\
{"text":"line one\nline two\ttabbed"}
{"a":"\u001b[31mred\u001b[0m"}
C:\new\token\names
C:\Users\tester\AppData
passed: 12, failed: 0
12 passed, 3 skipped
compass: north
class="password-field"
bypass=true
trespass: no
monkey: banana
turkey=roast
whiskey: neat
spoken: english
broken="yes"
discretely=no
concrete: mixed
signature: valid
sig: ok
design=flat
session: closed
session=interactive
login: alice
login=required
author: Some One Else
auth: none
auth=basic
cookie: accepted
Cookie: none
credentials: include
credentials: "same-origin"
pat: postman
COMPAT=strict
USER_PASS=
TOKEN=
SECRET=""
PASSWORD=''
--password-stdin
--token-file token.txt
--api-key "$KEY"
docker login --username app --password-stdin
git config credential.helper store
curl -u "$USER:$PASS" https://example.org
docker run -u 1000:1000 image
chown root:root /etc/passwd
root:x:0:0:root:/root:/bin/bash
getent passwd
passwd: password updated successfully
sudo: a password is required
Enter passphrase for key '/home/user/.ssh/id_ed25519':
Permission denied (publickey,password).
fatal: could not read Password for 'https://example.org': No such device
remote: Invalid username or password.
2 secrets masked
[masked]
password=[masked]
API_KEY=[redacted]
"token": "<redacted>"
token: ***
`;

/** The same for the same seed. */
export function innocents(seed: number, makings: number): string[] {
  const next = random(seed);
  const letters: Record<string, string> = {
    n: "0123456789",
    h: "0123456789abcdef",
    l: "abcdefghijklmnopqrstuvwxyz0123456789",
  };
  letters["u"] = (letters["l"] as string).toUpperCase();
  letters["a"] = `ABCDEFGHIJKLMNOPQRSTUVWXYZ${letters["l"]}`;
  letters["b"] = `${letters["a"]}+/`;
  const made = (row: string): string =>
    row.replaceAll(/\{([nhluab])(\d+)\}/g, (_, kind: string, count: string) =>
      Array.from({ length: Number(count) }, () => pick(next, [...(letters[kind] as string)])).join(""),
    );
  const rows = RANDOM.trim().split("\n");
  return [...rows.flatMap((row) => Array.from({ length: makings }, () => made(row))), ...PLAIN.trim().split("\n")];
}
