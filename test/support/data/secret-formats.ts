/**
 * Formats of secrets as public scanners list them, as templates: `{a36}` is 36 random letters and digits, so that no line here looks
 * like a secret to such a scanner. The part between « and » is the secret; all of it without them.
 */
import { pick, random } from "./random.ts";

const UUID = "{h8}-{h4}-{h4}-{h4}-{h12}";
const EYJ = "ey" + "J";

const LETTERS: Record<string, string> = {
  n: "0123456789",
  h: "0123456789abcdef",
  l: "abcdefghijklmnopqrstuvwxyz0123456789",
  u: "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
  a: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
  w: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
  b: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
};

/** One a line: `name | template`. */
const TABLE = `
Anthropic | sk-ant-api03-{w93}AA
Anthropic admin | sk-ant-admin01-{w93}AA
Anthropic OAuth | sk-ant-oat01-{w93}AA
OpenAI project | sk-proj-{w58}T3Blbk{w58}
OpenAI service | sk-svcacct-{w58}T3Blbk{w58}
OpenAI legacy | sk-{a20}T3Blbk{a22}
OpenRouter | sk-or-v1-{h64}
Groq | gsk_{a52}
xAI | xai-{a80}
Perplexity | pplx-{a48}
Replicate | r8_{a37}
Hugging Face | hf_{a34}
Hugging Face organisation | api_org_{a34}
Fireworks | fw_{a24}
Together | tgp_v1_{w43}
Cerebras | csk-{l48}
NVIDIA | nvapi-{w64}
LangSmith | lsv2_pt_{h32}_{h10}
Langfuse | sk-lf-${UUID}
Jina | jina_{a65}
Tavily | tvly-{a32}
E2B | e2b_{h40}
Pinecone | pcsk_{w70}
LlamaCloud | llx-{a48}
Firecrawl | fc-{h32}
Apify | apify_api_{a36}
ElevenLabs | sk_{h48}
PostHog | phx_{a43}
GitHub personal | ghp_{a36}
GitHub OAuth | gho_{a36}
GitHub user | ghu_{a36}
GitHub server | ghs_{a36}
GitHub refresh | ghr_{a36}
GitHub fine-grained | github_pat_{a22}_{a59}
GitLab personal | glpat-{w20}
GitLab routable | glpat-{w27}.01.{l9}
GitLab deploy | gldt-{w20}
GitLab runner | glrt-{w20}
GitLab pipeline trigger | glptt-{h40}
GitLab job | glcbt-{a2}_{w20}
GitLab incoming mail | glimt-{w25}
GitLab feed | glft-{w20}
GitLab agent | glagent-{w50}
GitLab OAuth | gloas-{w64}
GitLab feature flags | glffct-{w20}
GitLab SCIM | glsoat-{w20}
GitLab registration | GR1348941{w20}
GitLab session | _gitlab_session=«{l32}»
Atlassian | ATATT3xFf{w180}={u8}
Bitbucket app | ATBB{a28}{h8}
Bitbucket client secret | bitbucket_client_secret = "«{w64}»"
npm | npm_{a36}
PyPI | pypi-AgEIcHlwaS5vcmc{w70}
RubyGems | rubygems_{h48}
Clojars | CLOJARS_{l60}
crates.io | CARGO_REGISTRY_TOKEN=«cio{a32}»
Docker Hub | dckr_pat_{w27}
Artifactory | AKCp{a69}
Artifactory reference | cmVmd{a59}
JFrog | JFROG_API_KEY=«{l73}»
SonarQube | squ_{h40}
Sourcegraph | sgp_{h40}
Sourcegraph instance | sgp_{h16}_{h40}
CircleCI | CCIPAT_{a22}_{h40}
Buildkite | bkua_{h40}
Postman | PMAK-{h24}-{h34}
ReadMe | rdme_{l70}
Figma | figd_{w40}
AWS access key | AKIA{u16}
AWS temporary | ASIA{u16}
AWS secret | aws_secret_access_key = «{b40}»
AWS secret in the environment | AWS_SECRET_ACCESS_KEY=«{b40}»
AWS session | AWS_SESSION_TOKEN=«IQoJb3JpZ2luX2Vj{b300}»
AWS session, alone | FwoGZXIvYXdz{b300}
AWS Bedrock | ABSK{b110}
Google API | AIza{w35}
Google client secret | GOCSPX-{w28}
Google access | ya29.{w120}
Google refresh | 1//0{w60}
Google service account | "private_key": "«-----BEGIN PRIVATE KEY-----\\n{b64}\\n{b64}\\n{b20}==\\n-----END PRIVATE KEY-----»\\n"
Azure AD | AZURE_CLIENT_SECRET=«{a3}8Q~{w34}»
1Password, short groups | A3-{u6}-{u6}-{u5}-{u5}-{u5}-{u5}
Azure storage | AccountKey=«{b86}==»
Azure service bus | SharedAccessKey=«{b43}=»
Azure SAS | ?sv=2022-11-02&se=2030-01-01&sig=«{b42}1a»
Alibaba | LTAI{a20}
Alibaba secret | alibaba_secret_key: "«{l30}»"
Tencent | AKID{a32}
Yandex API | AQVN{w36}
Yandex session | t1.{w30}.{w86}
DigitalOcean | dop_v1_{h64}
DigitalOcean OAuth | doo_v1_{h64}
DigitalOcean refresh | dor_v1_{h64}
Heroku | HRKU-AA{w58}
Heroku before | HEROKU_API_KEY=«${UUID}»
Fly.io | fo1_{w43}
Fly.io macaroon | fm2_{b120}
Vercel | vcp_{a56}
Vercel Blob | vercel_blob_rw_{a16}_{a30}
Netlify | nfp_{a36}
Netlify before | NETLIFY_AUTH_TOKEN=«{w43}»
Render | rnd_{a28}
Supabase | sbp_{h40}
Supabase secret | sb_secret_{w31}
PlanetScale token | pscale_tkn_{w43}
PlanetScale password | pscale_pw_{w43}
PlanetScale OAuth | pscale_oauth_{w43}
Neon | napi_{l64}
MongoDB Atlas | mdb_sa_sk_{w40}
Aiven | AVNS_{w19}
Databricks | dapi{h32}
ClickHouse | 4b1d{a38}
Cloudflare Origin CA | v1.0-{h24}-{h146}
Cloudflare API | CLOUDFLARE_API_TOKEN=«{w40}»
Cloudflare global | cloudflare_api_key = "«{h37}»"
Tailscale | tskey-auth-{a12}CNTRL-{a32}
OpenShift | sha256~{w43}
Scalingo | tk-us-{w48}
Pulumi | pul-{h40}
Terraform | {a14}.atlasv1.{w67}
Infracost | ico-{a32}
Prefect | pnu_{a36}
Octopus Deploy | API-{u26}
Harness | pat.{w22}.{h24}.{a20}
Deno Deploy | ddp_{a36}
HashiCorp Vault | hvs.{w95}
HashiCorp Vault batch | hvb.{w140}
Doppler | dp.pt.{a43}
Doppler service | dp.st.prd.{a43}
1Password | A3-{u6}-{u11}-{u5}-{u5}-{u5}
1Password service | ops_${EYJ}{b300}
age | AGE-SECRET-KEY-1{u58}
Slack bot | xoxb-{n12}-{n12}-{a24}
Slack user | xoxp-{n12}-{n12}-{n12}-{h32}
Slack app | xapp-1-A{u10}-{n13}-{h64}
Slack configuration | xoxe.xoxp-1-{u164}
Slack webhook | https://hooks.slack.com/services/«T{u9}/B{u9}/{a24}»
Discord webhook | https://discord.com/api/webhooks/«{n18}/{w68}»
Discord bot | DISCORD_TOKEN=«M{a23}.{w6}.{w38}»
Teams webhook | https://example.webhook.office.com/webhookb2/«${UUID}@${UUID}/IncomingWebhook/{h32}/${UUID}»
Zapier webhook | https://hooks.zapier.com/hooks/catch/«{n7}/{l7}»
Telegram | {n10}:AA{w33}
Twilio | TWILIO_API_KEY=«SK{h32}»
Twilio auth | TWILIO_AUTH_TOKEN=«{h32}»
SendGrid | SG.{w22}.{w43}
Brevo | xkeysib-{h64}-{a16}
MailerSend | mlsn.{h64}
Mailgun | key-{h32}
Mailchimp | {h32}-us12
Resend | RESEND_API_KEY=«re_{a8}_{a24}»
Mattermost | MATTERMOST_TOKEN=«{l26}»
Stripe | sk_live_{a24}
Stripe test | sk_test_{a24}
Stripe restricted | rk_live_{a24}
Stripe webhook | whsec_{a32}
Square | EAAA{w60}
Square OAuth | sq0atp-{w22}
PayPal | access_token$production${"$"}{l16}${"$"}{h32}
Plaid | access-production-${UUID}
Plaid secret | PLAID_SECRET=«{h30}»
Flutterwave | FLWSECK_TEST-{h32}-X
Razorpay | rzp_live_{a14}
EasyPost | EZAK{a54}
Shippo | shippo_live_{h40}
Duffel | duffel_live_{w43}
Shopify | shpat_{h32}
Shopify custom | shpca_{h32}
Shopify private | shppa_{h32}
Shopify shared | shpss_{h32}
Coinbase | coinbase_access_token: «{w64}»
Kraken | KRAKEN_API_SECRET=«{b86}==»
Grafana Cloud | glc_{b60}
Grafana service account | glsa_{a32}_{h8}
New Relic | NRAK-{u27}
New Relic insert | NRII-{w32}
New Relic browser | NRJS-{h19}
Sentry organisation | sntrys_${EYJ}pYXQiO{a120}LCJyZWdpb25fdXJs{a40}_{a43}
Sentry user | sntryu_{h64}
Sentry before | SENTRY_AUTH_TOKEN=«{h64}»
Dynatrace | dt0c01.{u24}.{u64}
Datadog | DD_API_KEY=«{h32}»
Datadog application | datadog_app_key = "«{h40}»"
Honeycomb | hcaik_{l58}
Axiom | xaat-${UUID}
LaunchDarkly | sdk-${UUID}
Sumo Logic | sumo_access_key: "«{a64}»"
Notion | ntn_{n11}{a35}
Notion before | secret_{a43}
Linear | lin_api_{a40}
Airtable | AIRTABLE_TOKEN=«pat{a14}.{h64}»
Asana | asana_client_secret="«{l32}»"
HubSpot | pat-na1-${UUID}
Intercom | intercom_api_key: "«{w60}»"
Zendesk | zendesk_secret_key = '«{l40}»'
Contentful | CFPAT-{w43}
Dropbox | sl.{w135}
Typeform | tfp_{a44}_{a14}
Frame.io | fio-u-{w64}
Algolia | ALGOLIA_ADMIN_KEY=«{h32}»
Adafruit | ADAFRUIT_IO_KEY=«{l32}»
Codecov | CODECOV_TOKEN=«${UUID}»
Cohere | COHERE_API_KEY=«{a40}»
Mistral | MISTRAL_API_KEY=«{a32}»
Facebook | EAAM{a120}
Facebook secret | facebook_app_secret="«{h32}»"
Twitter secret | twitter_api_secret: «{a50}»
Twitch | TWITCH_CLIENT_SECRET=«{l30}»
LinkedIn | linkedin_client_secret = "«{a16}»"
Okta | OKTA_API_TOKEN=«00{w40}»
Snyk | snyk_token=«${UUID}»
Fastly | fastly_api_token: "«{w32}»"
RapidAPI | X-RapidAPI-Key: «{w50}»
Mapbox | sk.${EYJ}{w60}.{w22}
MaxMind | MAXMIND_LICENSE_KEY=«{a6}_{a29}_mmk»
Adobe | p8e-{l32}
Authress | authress_access_key = "«sc_{l10}.{l5}.acc-{l12}.{b60}»"
Defined Networking | dnkey-{l26}-{l52}
Intra 42 | s-s4t2ud-{h64}
SettleMint | sm_pat_{a16}
JSON Web Token | ${EYJ}{w30}.${EYJ}{w60}.{w43}
Bearer | Authorization: Bearer «{w40}»
Basic | Authorization: Basic «{b30}1==»
curl header | curl -H "X-Api-Key: «{w32}»" https://example.org
Password in an address | postgres://app:«{a18}»@db.example.org/app
Redis address | redis://:«{a24}»@cache.example.org:6379
Password in JSON | {"user":"app","password":"«{a14}»"}
Password of a flag | mysql --password=«{a14}» app
Token of a flag | deploy --token «{a32}» --now
Password in YAML | db_password: «{a14}»
Password in XML | <password>«{a14}»</password>
npmrc | //registry.npmjs.org/:_authToken=«${UUID}»
Docker configuration | {"auths":{"example.org":{"auth":"«{b40}»"}}}
Kubernetes | client-key-data: «{b80}»
RSA key | «-----BEGIN RSA PRIVATE KEY-----\\n{b64}\\n{b64}\\n-----END RSA PRIVATE KEY-----»
PGP key | «-----BEGIN PGP PRIVATE KEY BLOCK-----\\n\\n{b64}\\n{b64}\\n={b4}\\n-----END PGP PRIVATE KEY BLOCK-----»
OpenSSH key | «-----BEGIN OPENSSH PRIVATE KEY-----\\n{b70}\\n{b70}\\n-----END OPENSSH PRIVATE KEY-----»
`;

export interface Sample {
  name: string;
  /** As it is printed. */
  text: string;
  /** What must not be seen. */
  secret: string;
}

/** Whether twelve characters of the secret can be read somewhere; of an armoured key, of its body. */
export function isSeen({ secret }: Sample, text: string): boolean {
  for (const line of secret.split("\n").filter((one) => !one.startsWith("-----") && one.length >= 4)) {
    const length = Math.min(line.length, 12);
    for (let i = 0; i + length <= line.length; i++) if (text.includes(line.slice(i, i + length))) return true;
  }
  return false;
}

/** The same for the same seed. */
export function samples(seed: number): Sample[] {
  const next = random(seed);
  const made = (kind: string, count: number): string =>
    Array.from({ length: count }, () => pick(next, [...(LETTERS[kind] as string)])).join("");
  return TABLE.trim()
    .split("\n")
    .map((row) => {
      const at = row.indexOf(" | ");
      const printed = row
        .slice(at + 3)
        .replaceAll(/\{([nhluawb])(\d+)\}/g, (_, kind: string, count: string) => made(kind, Number(count)))
        .replaceAll("\\n", "\n");
      const secret = /«([^»]*)»/s.exec(printed)?.[1] ?? printed;
      return { name: row.slice(0, at), text: printed.replaceAll(/[«»]/g, ""), secret };
    });
}
