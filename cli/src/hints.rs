//! What is known of stores by the name of their host, before anything is asked.

/// Returns what somebody who keeps cells at this host should know.
pub(crate) fn of_host(host: &str) -> Option<&'static str> {
    let host = host.split(':').next().unwrap_or_default();
    HOSTS
        .iter()
        .find(|(suffix, _)| host == suffix.trim_start_matches('.') || host.ends_with(suffix))
        .map(|(_, hint)| *hint)
}

/// From reports of users; only a run of the doctor decides.
const HOSTS: &[(&str, &str)] = &[
    (".backblazeb2.com", "Backblaze B2 has answered conditional writes with 501: then it cannot be used"),
    (
        ".digitaloceanspaces.com",
        "DigitalOcean Spaces has been seen to ignore conditions on writes: two nodes would own one cell",
    ),
    (
        ".googleapis.com",
        "the S3 interface of Google Cloud Storage applies conditions to reads only; use its own, gs://bucket/prefix, with a command that was built with --features object-store",
    ),
    (
        ".r2.cloudflarestorage.com",
        "Cloudflare R2 takes about one write a second of one key and answers 429 to more: keep the ttl at 10 s or above",
    ),
    (
        ".your-objectstorage.com",
        "Hetzner has been seen to find tags equal only without their quotes: the check `update` finds out",
    ),
];

#[cfg(test)]
mod tests {
    use super::of_host;

    #[test]
    fn a_host_is_known_by_its_domain_whatever_its_port_and_bucket() {
        for host in ["storage.googleapis.com", "storage.googleapis.com:443", "bkt.storage.googleapis.com"] {
            assert!(of_host(host).is_some_and(|hint| hint.contains("object-store")), "{host}");
        }
        for host in ["127.0.0.1:9000", "s3.eu-west-1.amazonaws.com", "notgoogleapis.com", ""] {
            assert_eq!(of_host(host), None, "{host}");
        }
    }
}
