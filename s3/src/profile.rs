//! The shared files of the AWS tools, `credentials` and `config`: the one profile that is asked for.
//!
//! Only what is written there is read: keys, region. Whatever has to be fetched (roles, single sign-on,
//! processes) is named, so that an error can say what is missing.

use core::fmt;

use tenure_core::{Fault, FaultKind};
use zeroize::Zeroizing;

use crate::credentials::Credentials;

/// Keys of a profile that say how credentials are to be fetched.
const FETCHED: [&str; 6] =
    ["credential_process", "credential_source", "login_session", "role_arn", "sso_session", "sso_start_url"];

/// What one profile says.
#[derive(Default)]
pub struct Profile {
    /// Whether either file has it.
    pub is_known: bool,
    /// `region`.
    pub region: Option<String>,
    /// The setting by which its credentials have to be fetched, if there is one.
    pub fetched_by: Option<&'static str>,
    access_key: Option<String>,
    secret: Option<Zeroizing<String>>,
    token: Option<Zeroizing<String>>,
}

impl Profile {
    /// Reads a profile from the text of the two files; `credentials` goes first. What cannot be read as a
    /// setting is passed over, as the AWS tools do.
    pub fn read(name: &str, credentials: &str, config: &str) -> Self {
        let mut profile = Self::default();
        for (text, is_config) in [(credentials, false), (config, true)] {
            let mut is_ours = false;
            for line in text.lines() {
                match line.trim_start_matches('\u{feff}') {
                    blank if blank.trim().is_empty() || blank.starts_with(['#', ';']) => {}
                    header if header.starts_with('[') => {
                        is_ours = section(header).is_some_and(|found| is_section_of(found, name, is_config));
                        profile.is_known |= is_ours;
                    }
                    // An indented line belongs to the setting above it, which is none of ours.
                    nested if nested.starts_with([' ', '\t']) => {}
                    line if is_ours => profile.take(line),
                    _ => {}
                }
            }
        }
        profile
    }

    /// Returns the keys that are written in the profile, if there are any.
    ///
    /// # Errors
    /// Says which part is missing or malformed.
    pub fn credentials(&self) -> Result<Option<Credentials>, Fault> {
        let fail = |why: String| Fault::new(FaultKind::Config, why);
        match (&self.access_key, &self.secret) {
            (None, None) => Ok(None),
            (Some(_), None) => Err(fail("the profile has no aws_secret_access_key; add it".into())),
            (None, Some(_)) => Err(fail("the profile has no aws_access_key_id; add it".into())),
            (Some(access_key), Some(secret)) => {
                let token = self.token.as_ref().map(|token| token.as_str());
                // The error names the variable of the part, which is the setting's name in capitals.
                let made = Credentials::new(access_key, secret, token);
                made.map(Some).map_err(|error| fail(format!("in the profile, {error}")))
            }
        }
    }

    fn take(&mut self, line: &str) {
        let Some((key, value)) = line.split_once('=') else { return };
        let (key, value) = (key.trim().to_ascii_lowercase(), uncommented(value));
        if value.is_empty() {
            return;
        }
        match key.as_str() {
            "aws_access_key_id" => keep(&mut self.access_key, || value.to_owned()),
            "aws_secret_access_key" => keep(&mut self.secret, || Zeroizing::new(value.to_owned())),
            "aws_session_token" => keep(&mut self.token, || Zeroizing::new(value.to_owned())),
            "region" => keep(&mut self.region, || value.to_owned()),
            _ => {
                if let Some(known) = FETCHED.into_iter().find(|known| *known == key) {
                    self.fetched_by.get_or_insert(known);
                }
            }
        }
    }
}

impl fmt::Debug for Profile {
    /// Shows nothing that is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profile").field("region", &self.region).finish_non_exhaustive()
    }
}

/// Keeps the first: `credentials` goes before `config`.
fn keep<T>(slot: &mut Option<T>, value: impl FnOnce() -> T) {
    slot.get_or_insert_with(value);
}

/// Cuts off a comment, which starts with a blank: the mark alone may stand in a secret.
fn uncommented(value: &str) -> &str {
    let end = [" #", " ;", "\t#", "\t;"].into_iter().filter_map(|mark| value.find(mark)).min();
    value[..end.unwrap_or(value.len())].trim()
}

/// Returns what stands between the brackets.
fn section(header: &str) -> Option<&str> {
    Some(header.strip_prefix('[')?.split_once(']')?.0.trim())
}

/// `config` calls profiles `[profile name]`, but for the default, `credentials` just `[name]`.
fn is_section_of(found: &str, name: &str, is_config: bool) -> bool {
    let named = found.strip_prefix("profile").filter(|rest| rest.starts_with([' ', '\t'])).map(str::trim);
    match named {
        Some(named) => is_config && named.trim_matches('"') == name,
        None => found == name && (!is_config || name == "default"),
    }
}

#[cfg(test)]
mod tests {
    use super::Profile;
    use proptest::prelude::*;

    const CREDENTIALS: &str = "\u{feff}# mine\n[default]\naws_access_key_id=AKIADEFAULT\n\
        aws_secret_access_key = s3/+=#x ; why\n\n[work]\nAWS_Access_Key_Id = ASIAWORK\n\
        aws_secret_access_key = w\naws_session_token = t/+=\n[half]\naws_access_key_id = A\n[bad]\n\
        aws_access_key_id = A\naws_secret_access_key = two words\n";
    const CONFIG: &str = "[default]\nregion = eu-west-1\ns3 =\n  addressing_style = path\n  region = nested\n\
        [profile work]\nregion = us-west-2 # far\naws_access_key_id = IGNORED\n[work]\nregion = never\n\
        [profile sso]\nsso_session = corp\nrole_arn = arn\n[sso-session corp]\nregion = other\n";

    fn read(name: &str) -> Profile {
        Profile::read(name, CREDENTIALS, CONFIG)
    }

    #[test]
    fn keys_and_region_come_from_the_profile_s_own_sections() {
        for (name, access_key, secret, token, region) in [
            ("default", "AKIADEFAULT", "s3/+=#x", None, "eu-west-1"),
            ("work", "ASIAWORK", "w", Some("t/+="), "us-west-2"),
        ] {
            let profile = read(name);
            let keys = profile.credentials().expect("legal").expect("keys");
            assert_eq!((keys.access_key(), keys.secret(), keys.token()), (access_key, secret, token));
            assert_eq!(profile.region.as_deref(), Some(region));
            assert!(profile.is_known && profile.fetched_by.is_none());
        }
    }

    #[test]
    fn what_has_to_be_fetched_is_named() {
        let profile = read("sso");
        assert!(profile.is_known && profile.credentials().expect("none").is_none());
        assert_eq!((profile.fetched_by, profile.region), (Some("sso_session"), None));
    }

    #[test]
    fn a_profile_that_nobody_wrote_is_not_known() {
        for name in ["other", "", "profile work", "sso-session corp", "corp"] {
            assert!(!read(name).is_known, "{name}");
        }
    }

    #[test]
    fn half_a_pair_of_keys_is_an_error_that_names_the_other_and_shows_neither() {
        let error = read("half").credentials().expect_err("half").to_string();
        assert!(error.contains("aws_secret_access_key"), "{error}");
        let error = read("bad").credentials().expect_err("bad").to_string();
        assert!(error.contains("AWS_SECRET_ACCESS_KEY") && !error.contains("two words"), "{error}");
        let shown = format!("{:?}", read("work").credentials());
        assert!(!shown.contains("t/+=") && !shown.contains("ASIAWORK"), "{shown}");
    }

    proptest! {
        #[test]
        fn no_text_makes_reading_panic(text in "(\\[[ -~]{0,9}\\]?\n|[ -~]{0,30}\n|\\PC{0,9}\n){0,12}") {
            let _ = Profile::read("default", &text, &text).credentials();
        }
    }
}
