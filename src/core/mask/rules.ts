/**
 * The shapes of keys: how each begins and what must follow. The formats are those that public secret scanners list; the table is ours.
 * What has no shape of its own (32 hex digits of some service) is known by the name before it: `named.ts`.
 */

export interface Rule {
  /** Whose keys these are. */
  of: string;
  /** One of these begins it; upper and lower case count. */
  begins: string;
  /**
   * What follows, part by part: the letter of an alphabet (`alphabet.ts`) with how many of it, or text as it is. `a36+` is 36 or more,
   * `a36` exactly so many, `a20-40` from 20 to 40. The last part hides all that goes on in its alphabet.
   */
  follows: string;
  /** What stands directly before the beginning and belongs to it. */
  back?: string;
  /** `digit`: without a digit it is a word; `mixed`: only with digits, small and capital letters. */
  needs?: "digit" | "mixed";
  /** Not within a path or base64, where the beginning occurs by chance. */
  alone?: true;
}

const UUID = "h8 - h4 - h4 - h4 - h12";

function rule(of: string, begins: string, follows: string, more: Pick<Rule, "back" | "needs" | "alone"> = {}): Rule {
  return { of, begins, follows, ...more };
}

export const RULES: readonly Rule[] = [
  // Models
  rule("Anthropic", "sk-ant-", "w16+"),
  rule("OpenAI", "sk-proj- sk-svcacct- sk-admin- sk-None-", "w16+"),
  rule(
    "OpenRouter, Langfuse, keys of this style",
    "sk-or- sk-lf- pk-lf- sk-live- sk-test- pk-live- pk-test- rk-live- rk-test-",
    "w16+",
  ),
  rule("OpenAI before projects, DeepSeek, LiteLLM", "sk-", "a20+", { needs: "digit" }),
  rule("Groq", "gsk_", "a40+"),
  rule("xAI", "xai-", "a40+"),
  rule("Perplexity", "pplx-", "a40+"),
  rule("Replicate", "r8_", "a30+"),
  rule("Hugging Face", "hf_ api_org_", "a30+"),
  rule("Fireworks", "fw_", "a22+", { needs: "mixed" }),
  rule("Together", "tgp_v1_", "w30+"),
  rule("Cerebras", "csk-", "a40+"),
  rule("NVIDIA", "nvapi-", "w40+"),
  rule("LangSmith", "lsv2_pt_ lsv2_sk_", "h32 _ h8+"),
  rule("Jina", "jina_", "w40+"),
  rule("Tavily", "tvly-", "w24+"),
  rule("E2B", "e2b_", "h40+"),
  rule("Pinecone", "pcsk_", "w40+"),
  rule("LlamaCloud", "llx-", "a40+"),
  rule("Firecrawl", "fc-", "h32", { needs: "digit" }),
  rule("Apify", "apify_api_", "a30+"),
  rule("ElevenLabs", "sk_", "h48", { needs: "digit" }),
  rule("Kaggle", "KGAT_", "h32+"),
  rule("PostHog", "phc_ phx_", "a40+"),
  rule("Weights & Biases", "wandb_v1_", "w40+"),
  // Code and packages
  rule("GitHub", "ghp_ gho_ ghu_ ghs_ ghr_", "a30+"),
  rule("GitHub, fine-grained", "github_pat_", "w30+"),
  rule("GitLab", "glpat- gldt- glrt- glrtr- glptt- glcbt- glimt- glft- glagent- gloas- glffct- glsoat- glwt-", "d18+"),
  rule("GitLab runners", "GR1348941", "w20+"),
  rule("Atlassian", "ATATT3 ATCTT3", "e40+"),
  rule("Bitbucket", "ATBB", "a28+", { needs: "mixed", alone: true }),
  rule("npm", "npm_", "a30+"),
  rule("PyPI", "pypi-AgE", "w40+"),
  rule("RubyGems", "rubygems_", "h40+"),
  rule("NuGet", "oy2", "l43", { alone: true }),
  rule("Clojars", "CLOJARS_", "a50+"),
  rule("Docker Hub", "dckr_pat_ dckr_oat_", "w20+"),
  rule("Artifactory", "AKCp", "a60+", { alone: true }),
  rule("Artifactory reference", "cmVmd", "a55+", { alone: true }),
  rule("SonarQube", "squ_ sqp_ sqa_", "h40+"),
  rule("Sourcegraph", "sgp_", "h40+"),
  rule("Sourcegraph of an instance", "sgp_", "h16 _ h40+"),
  rule("Sourcegraph, local", "sgp_local_", "h40+"),
  rule("CircleCI", "CCIPAT_ CCIPRJ_", "w40+"),
  rule("Buildkite", "bkua_", "h40+"),
  rule("Postman", "PMAK-", "h24 - h34"),
  rule("ReadMe", "rdme_", "l60+"),
  rule("Figma", "figd_", "w36+"),
  // Clouds
  rule("AWS", "AKIA ASIA ABIA ACCA", "u16"),
  rule("AWS sessions", "FwoGZXIv IQoJb3Jp", "b100+", { alone: true }),
  rule("AWS Bedrock", "ABSK", "b100+", { alone: true }),
  rule("AWS Bedrock, short-lived", "bedrock-api-key-", "b40+"),
  rule("Amazon Marketplace", "amzn.mws.", UUID),
  rule("Amazon login", "amzn1.oa2-cs.v1.", "h64"),
  rule("Google API", "AIza", "w30+"),
  rule("Google OAuth client", "GOCSPX-", "w24+"),
  rule("Google access", "ya29.", "d20+"),
  rule("Google refresh", "1//0", "w30+"),
  rule("Google storage", "GOOG1E", "u50+"),
  rule("Alibaba", "LTAI", "a20", { needs: "mixed", alone: true }),
  rule("Tencent", "AKID", "a32", { needs: "mixed", alone: true }),
  rule("Yandex", "AQVN", "w35-40", { needs: "mixed", alone: true }),
  rule("Yandex sessions", "t1.", "e20+ . e80+"),
  rule("DigitalOcean", "dop_v1_ doo_v1_ dor_v1_", "h60+"),
  rule("Heroku", "HRKU-", "w40+"),
  rule("Fly.io", "fo1_", "w40+"),
  rule("Fly.io macaroons", "fm1a_ fm1r_ fm2_", "b80+"),
  rule("Vercel", "vcp_ vci_ vca_ vcr_ vck_", "a24+"),
  rule("Vercel Blob", "vercel_blob_rw_", "w30+"),
  rule("Netlify", "nfp_ nfc_", "a36+"),
  rule("Render", "rnd_", "a28+"),
  rule("Supabase", "sbp_", "h40+"),
  rule("Supabase, secret", "sb_secret_", "w20+"),
  rule("PlanetScale", "pscale_tkn_ pscale_oauth_ pscale_pw_", "d30+"),
  rule("Neon", "napi_", "a40+"),
  rule("MongoDB Atlas", "mdb_sa_sk_", "w30+"),
  rule("Aiven", "AVNS_", "w16+"),
  rule("Databricks", "dapi", "h32", { needs: "digit" }),
  rule("ClickHouse", "4b1d", "a38", { needs: "mixed", alone: true }),
  rule("Cloudflare Origin CA", "v1.0-", "h24 - h140+"),
  rule("Tailscale", "tskey-auth- tskey-api- tskey-client- tskey-scim- tskey-webhook-", "w16+"),
  rule("OpenShift", "sha256~", "w43"),
  rule("Scalingo", "tk-us-", "w40+"),
  rule("Pulumi", "pul-", "h40"),
  rule("Terraform", ".atlasv1.", "e55+", { back: "a14" }),
  rule("Infracost", "ico-", "a32"),
  rule("Prefect", "pnu_ pnb_", "a36+"),
  rule("Octopus Deploy", "API-", "u26"),
  rule("Harness", "pat. sat.", "w22 . a24 . a20"),
  rule("Deno Deploy", "ddp_ ddo_", "a36+"),
  // Vaults
  rule("HashiCorp Vault", "hvs. hvb. hvr.", "w24+"),
  rule("Doppler", "dp.pt. dp.ct. dp.sa. dp.scim. dp.audit.", "a40+"),
  rule("Doppler service", "dp.st.", "d40+"),
  rule("1Password service", "ops_eyJ", "b100+"),
  rule("1Password", "A3-", "u6 - u6-11 - u5 - u5 - w5-11"),
  rule("age", "AGE-SECRET-KEY-1", "u58"),
  // Messages and mail
  rule("Slack", "xoxb- xoxp- xoxa- xoxo- xoxr- xoxs- xoxe- xoxc- xoxd- xoxe.xoxb- xoxe.xoxp-", "w10+", {
    needs: "digit",
  }),
  rule("Slack apps", "xapp-", "w20+", { needs: "digit" }),
  rule("Slack webhook", "hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/", "p30+"),
  rule("Discord webhook", "discord.com/api/webhooks/ discordapp.com/api/webhooks/", "n15+ / w40+"),
  rule("Teams webhook", "webhook.office.com/webhookb2/", "p80+"),
  rule("Zapier webhook", "hooks.zapier.com/hooks/catch/", "n4+ / p5+"),
  rule("Telegram bot", ":AA", "w32-34", { back: "n8-10" }),
  rule("SendGrid", "SG.", "w16+ . w30+"),
  rule("Brevo", "xkeysib- xsmtpsib-", "w50+"),
  rule("MailerSend", "mlsn.", "h60+"),
  rule("Mailgun", "key- pubkey-", "h32", { needs: "digit" }),
  rule("Mailchimp", "-us", "n1-2", { back: "h32" }),
  // Money
  rule("Stripe", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ pk_live_ pk_test_", "a16+"),
  rule("Stripe webhook", "whsec_", "b24+"),
  rule("Square", "EAAA", "w40-60", { needs: "mixed", alone: true }),
  rule("Square, OAuth", "sq0atp- sq0csp-", "w22+"),
  rule("PayPal", "access_token$production$ access_token$sandbox$", "l16 $ h32"),
  rule("Plaid", "access-sandbox- access-development- access-production-", UUID),
  rule("Flutterwave", "FLWSECK_TEST- FLWSECK- FLWPUBK_TEST-", "a12+"),
  rule("Razorpay", "rzp_live_ rzp_test_", "a14+"),
  rule("EasyPost", "EZAK EZTK", "a54", { alone: true }),
  rule("Shippo", "shippo_live_ shippo_test_", "h40+"),
  rule("Duffel", "duffel_live_ duffel_test_", "e40+"),
  rule("Shopify", "shpat_ shpca_ shppa_ shpss_ shptka_", "h32+"),
  // Watching
  rule("Grafana Cloud", "glc_", "b32+"),
  rule("Grafana service account", "glsa_", "a32 _ h8"),
  rule("Grafana API", "eyJrIjoi", "b60+"),
  rule("New Relic", "NRAK- NRII- NRRA-", "w26+"),
  rule("New Relic browser", "NRJS-", "h19"),
  rule("Sentry organisation", "sntrys_eyJ", "b40+ _ b40+"),
  rule("Sentry user", "sntryu_", "h60+"),
  rule("Dynatrace", "dt0c01. dt0s01. dt0s08. dt0s16.", "a24 . a60+"),
  rule("Honeycomb", "hcaik_ hcalk_ hcamk_", "a40+"),
  rule("Axiom", "xaat- xapt-", UUID),
  rule("LaunchDarkly", "sdk- api- mob-", UUID),
  // Other services
  rule("Notion", "ntn_", "a40+"),
  rule("Notion, before", "secret_", "a43", { needs: "mixed" }),
  rule("Linear", "lin_api_ lin_oauth_ lin_wh_", "a30+"),
  rule("HubSpot", "pat-na1- pat-eu1- pat-na2-", UUID),
  rule("Contentful", "CFPAT-", "w40+"),
  rule("Dropbox", "sl.", "e120+"),
  rule("Typeform", "tfp_", "d40+"),
  rule("Frame.io", "fio-u-", "e60+"),
  rule("Facebook", "EAAM EAAC EAAG EAAB", "a80+", { alone: true }),
  rule("Instagram", "IGQV IGQW", "w80+", { alone: true }),
  rule("Mapbox", "sk.eyJ pk.eyJ tk.eyJ", "w40+ . w20+"),
  rule("Adobe", "p8e-", "a32"),
  rule("Defined Networking", "dnkey-", "e60+"),
  rule("Intra 42", "s-s4t2ud- s-s4t2af-", "h60+"),
  rule("SettleMint", "sm_aat_ sm_pat_ sm_sat_", "a16+"),
  rule("Browserbase", "bb_live_", "w20+"),
  rule("GitBook", "gb_api_", "a30+"),
  rule("ClickUp", "pk_", "n5-12 _ u32"),
  rule("Inngest", "signkey-prod- signkey-test-", "h32+"),
  rule("Stytch", "secret-live- secret-test-", "w30+"),
  rule("JSON Web Tokens", "eyJ", "w8+ . w8+ . w8+"),
];
