//! What requests are signed with: shown to nobody, wiped from memory when dropped.

use core::fmt;

use zeroize::Zeroizing;

/// An access key, its secret and, for temporary credentials, a session token.
#[derive(Clone, Eq, PartialEq)]
pub struct Credentials {
    access_key: String,
    secret: Zeroizing<String>,
    token: Option<Zeroizing<String>>,
}

impl Credentials {
    /// Takes the parts as the provider gave them; blanks around them are cut off.
    ///
    /// # Errors
    /// Refuses an empty part, and one with characters that cannot stand in a header.
    pub fn new(access_key: &str, secret: &str, token: Option<&str>) -> Result<Self, CredentialsError> {
        let access_key = part("AWS_ACCESS_KEY_ID", access_key)?;
        // The access key stands before the first slash of the signature's scope, and before a comma.
        if access_key.contains(['/', ',', '=']) {
            return Err(CredentialsError::Malformed { name: "AWS_ACCESS_KEY_ID" });
        }
        let secret = part("AWS_SECRET_ACCESS_KEY", secret)?;
        let token = match token {
            None => None,
            Some(token) => Some(Zeroizing::new(part("AWS_SESSION_TOKEN", token)?.to_owned())),
        };
        Ok(Self { access_key: access_key.to_owned(), secret: Zeroizing::new(secret.to_owned()), token })
    }

    /// Reads `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and, if set, `AWS_SESSION_TOKEN`.
    ///
    /// # Errors
    /// Names the variable that is missing or malformed. An empty variable counts as unset.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, CredentialsError> {
        let get = |name| lookup(name).map(Zeroizing::new).filter(|value| !value.trim().is_empty());
        let need = |name| get(name).ok_or(CredentialsError::Missing { name });
        let access_key = need("AWS_ACCESS_KEY_ID")?;
        let secret = need("AWS_SECRET_ACCESS_KEY")?;
        let token = get("AWS_SESSION_TOKEN");
        Self::new(&access_key, &secret, token.as_ref().map(|token| token.as_str()))
    }

    pub(crate) fn access_key(&self) -> &str {
        &self.access_key
    }

    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_ref().map(|token| token.as_str())
    }
}

impl fmt::Debug for Credentials {
    /// Shows the kind of key, which tells a temporary one from a lasting one, and nothing more.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind: String = self.access_key.chars().take(4).collect();
        write!(f, "Credentials({:?})", kind + "\u{2026}")
    }
}

/// Why there are no usable credentials.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum CredentialsError {
    /// The part is not printable ASCII without blanks.
    Malformed {
        /// The variable that holds it.
        name: &'static str,
    },
    /// The part is not there.
    Missing {
        /// The variable that should hold it.
        name: &'static str,
    },
}

impl fmt::Display for CredentialsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { name } => {
                write!(f, "{name} has characters that no such value has; copy it again from your provider")
            }
            Self::Missing { name } => write!(
                f,
                "no credentials: {name} is not set; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and \
                 AWS_SESSION_TOKEN for temporary ones), or AWS_PROFILE; roles, web identities, containers, instances \
                 and single sign-on need tenure built with the feature aws"
            ),
        }
    }
}

impl core::error::Error for CredentialsError {}

fn part<'t>(name: &'static str, text: &'t str) -> Result<&'t str, CredentialsError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(CredentialsError::Missing { name });
    }
    if text.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(text);
    }
    Err(CredentialsError::Malformed { name })
}

#[cfg(test)]
mod tests {
    use super::{Credentials, CredentialsError};

    fn from(pairs: &[(&str, &str)]) -> Result<Credentials, CredentialsError> {
        Credentials::from_env(|name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn debug_shows_no_more_than_the_kind_of_key() {
        let credentials = Credentials::new("AKIAIOSFODNN7EXAMPLE", "s3cr3t", Some("t0k3n")).expect("legal");
        assert_eq!(format!("{credentials:?}"), "Credentials(\"AKIA\u{2026}\")");
    }

    #[test]
    fn the_environment_gives_all_parts_and_an_empty_token_is_none() {
        let pairs = [
            ("AWS_ACCESS_KEY_ID", "AKIA1\n"),
            ("AWS_SECRET_ACCESS_KEY", " s/+= "),
            ("AWS_SESSION_TOKEN", ""),
        ];
        let credentials = from(&pairs).expect("complete");
        assert_eq!((credentials.access_key(), credentials.secret()), ("AKIA1", "s/+="));
        assert_eq!(credentials.token(), None);
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = from(&[("AWS_ACCESS_KEY_ID", "a")]).expect_err("no secret");
        assert_eq!(error, CredentialsError::Missing { name: "AWS_SECRET_ACCESS_KEY" });
        let error = from(&[("AWS_SECRET_ACCESS_KEY", "s3cr3t")]).expect_err("no key").to_string();
        assert!(error.contains("AWS_ACCESS_KEY_ID is not set") && !error.contains("s3cr3t"), "{error}");
    }

    #[test]
    fn a_part_that_cannot_stand_in_a_header_is_refused_without_showing_it() {
        for (key, secret, token) in
            [("a\nb", "s", None), ("a/b", "s", None), ("a", "s\u{e9}", None), ("a", "s", Some("t t"))]
        {
            let error = Credentials::new(key, secret, token).expect_err("malformed");
            assert!(matches!(error, CredentialsError::Malformed { .. }), "{error}");
        }
    }
}
