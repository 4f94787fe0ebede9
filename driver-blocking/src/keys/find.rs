//! Where keys are looked for: the environment, then the shared files of the AWS tools, then the rest of AWS.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tenure_core::{Fault, FaultKind};
use tenure_s3::{Credentials, Issued, Profile, Provider};

use super::Keys;
use crate::open::OpenError;

/// The shared files, and which of their profiles is meant.
#[derive(Clone, Debug)]
pub struct Files {
    credentials: Place,
    config: Place,
    profile: String,
    /// Whether the profile was asked for by its name, and so must exist.
    is_named: bool,
}

/// Where one file is, and whether it must be there.
#[derive(Clone, Debug)]
struct Place {
    path: PathBuf,
    named_by: Option<&'static str>,
}

/// Finds keys: in `AWS_ACCESS_KEY_ID` and its companions, which nothing else is asked beside; else in a profile
/// of the shared files; else, with the feature `aws`, wherever else AWS has them.
///
/// # Errors
/// Says where there should be keys and what is wrong there.
pub fn find(lookup: impl Fn(&str) -> Option<String>, files: &Files, region: &str) -> Result<Keys, OpenError> {
    let is_set = |name| lookup(name).is_some_and(|value| !value.trim().is_empty());
    if is_set("AWS_ACCESS_KEY_ID") || is_set("AWS_SECRET_ACCESS_KEY") {
        return Credentials::from_env(lookup).map(Keys::fixed).map_err(OpenError::Credentials);
    }
    let profile = files.read().map_err(OpenError::Store)?;
    if profile.credentials().map_err(|fault| OpenError::Store(files.blame(&fault)))?.is_some() {
        // Read again when the store says that they have ended: other tools write fresh ones there.
        return Keys::fetched_by(files.clone()).map_err(OpenError::Store);
    }
    elsewhere(files, &profile, region, lookup)
}

#[cfg(feature = "aws")]
fn elsewhere(
    _: &Files,
    _: &Profile,
    region: &str,
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<Keys, OpenError> {
    super::chain::Chain::new(region, lookup).and_then(Keys::fetched_by).map_err(OpenError::Store)
}

#[cfg(not(feature = "aws"))]
fn elsewhere(
    files: &Files,
    profile: &Profile,
    _: &str,
    _: impl Fn(&str) -> Option<String>,
) -> Result<Keys, OpenError> {
    match profile.fetched_by {
        Some(setting) => Err(OpenError::Store(config(format!(
            "the profile {} has its credentials fetched ({setting}), which needs tenure built with the feature aws",
            files.profile
        )))),
        None => {
            Err(OpenError::Credentials(tenure_s3::CredentialsError::Missing { name: "AWS_ACCESS_KEY_ID" }))
        }
    }
}

impl Files {
    /// Takes the names of the files and of the profile from the environment, or their defaults in `HOME`.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name| lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let home = get("HOME").or_else(|| get("USERPROFILE")).map(PathBuf::from);
        let place = |variable: &'static str, name: &str| match (get(variable), &home) {
            (Some(path), Some(home)) if path.starts_with("~/") => {
                Place { path: home.join(&path[2..]), named_by: Some(variable) }
            }
            (Some(path), _) => Place { path: path.into(), named_by: Some(variable) },
            (None, Some(home)) => Place { path: home.join(".aws").join(name), named_by: None },
            (None, None) => Place { path: PathBuf::new(), named_by: None },
        };
        let profile = get("AWS_PROFILE");
        Self {
            credentials: place("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
            config: place("AWS_CONFIG_FILE", "config"),
            is_named: profile.is_some(),
            profile: profile.unwrap_or_else(|| "default".into()),
        }
    }

    /// Reads the profile; an empty one if nobody asked for one and there is none.
    ///
    /// # Errors
    /// Names the file that cannot be read, or the profile that is in neither.
    pub fn read(&self) -> Result<Profile, Fault> {
        let (credentials, config_text) = (self.credentials.read()?, self.config.read()?);
        let profile = Profile::read(&self.profile, &credentials, &config_text);
        if self.is_named && !profile.is_known {
            return Err(config(format!(
                "AWS_PROFILE names the profile {:?}, which neither {} nor {} has; write it there",
                self.profile,
                self.credentials.path.display(),
                self.config.path.display()
            )));
        }
        Ok(profile)
    }

    /// Says which profile it is that something is wrong with.
    fn blame(&self, fault: &Fault) -> Fault {
        let place = self.credentials.path.display();
        Fault::new(fault.kind, format!("{} (profile {} of {place})", fault.detail, self.profile))
    }
}

impl Provider for Files {
    fn fetch(&self) -> Result<Issued, Fault> {
        match self.read()?.credentials().map_err(|fault| self.blame(&fault))? {
            Some(credentials) => Ok(Issued { credentials, expires: None }),
            None => Err(self.blame(&config("there are no keys any more".into()))),
        }
    }
}

impl Place {
    fn read(&self) -> Result<zeroize::Zeroizing<String>, Fault> {
        let text =
            if self.path == Path::new("") { Ok(String::new()) } else { fs::read_to_string(&self.path) };
        match (text, self.named_by) {
            (Ok(text), _) => Ok(zeroize::Zeroizing::new(text)),
            (Err(error), None) if error.kind() == io::ErrorKind::NotFound => Ok(String::new().into()),
            (Err(error), named_by) => {
                let named = named_by.map(|name| format!("{name} names ")).unwrap_or_default();
                let why = format!("{named}{}, which cannot be read: {error}", self.path.display());
                Err(config(why))
            }
        }
    }
}

fn config(text: String) -> Fault {
    Fault::new(FaultKind::Config, text)
}
