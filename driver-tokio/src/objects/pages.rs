//! Listings: pages of the store's own where it has them, and a sieve where it has not.
//!
//! Azure lists tags without the quotes that they have everywhere else. And of what it lists the crate leaves out an
//! object whose key is the very text that was asked for, so less is asked for and the rest is sieved.

use std::collections::BTreeMap;

use futures_util::StreamExt as _;
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::{Error, ObjectMeta};
use tenure_core::{Entry, ListOp, Page};

use super::ear::Ear;
use super::{ObjectStoreAdapter, stamp};

/// How many keys a page has at most.
const PAGE: usize = 1000;

impl ObjectStoreAdapter {
    /// Asks for one page. Both clouds list in the order of keys, and say where the next page begins.
    pub(super) async fn page(
        &self,
        pages: &dyn PaginatedListStore,
        op: &ListOp,
        ear: &Ear,
    ) -> Result<Page, Error> {
        let options = PaginatedListOptions {
            page_token: op.after.as_deref().map(str::to_owned),
            max_keys: Some(PAGE),
            extensions: ear.extensions(),
            ..PaginatedListOptions::default()
        };
        let mut prefix = format!("{}{}", self.prefix, op.prefix);
        // No key ends with a slash.
        if self.is_azure && !prefix.ends_with('/') {
            prefix.pop();
        }
        let prefix = (!prefix.is_empty()).then_some(prefix.as_str());
        let listed = pages.list_paginated(prefix, options).await?;
        let entries = listed.result.objects.iter().filter_map(|object| self.entry(object));
        Ok(Page {
            entries: entries.filter(|entry| entry.key.starts_with(&*op.prefix)).collect(),
            next: listed.page_token.map(Into::into),
            date: ear.stamps().date,
        })
    }

    /// Goes through a listing in whatever order, and keeps the first page of it.
    pub(super) async fn sift(&self, op: &ListOp) -> Result<Page, Error> {
        // The crate lists whole directories.
        let wanted = format!("{}{}", self.prefix, op.prefix);
        let directory = wanted.rsplit_once('/').map_or("", |(directory, _)| directory);
        let directory = object_store::path::Path::parse(directory)?;
        let directory = Some(&directory).filter(|directory| !directory.is_root());
        let mut objects = match &op.after {
            Some(after) => self.objects.list_with_offset(directory, &self.path(after)?),
            None => self.objects.list(directory),
        };
        let mut first = BTreeMap::new();
        let mut is_last = true;
        while let Some(object) = objects.next().await {
            let Some(entry) = self.entry(&object?) else { continue };
            if !entry.key.starts_with(&*op.prefix)
                || op.after.as_deref().is_some_and(|after| *entry.key <= *after)
            {
                continue;
            }
            first.insert(entry.key.clone(), entry);
            if first.len() > PAGE {
                first.pop_last();
                is_last = false;
            }
        }
        let next = first.keys().next_back().filter(|_| !is_last).map(|key| key.as_str().into());
        Ok(Page { entries: first.into_values().collect(), next, date: None })
    }

    /// Returns what is listed of an object, if it is below the prefix.
    fn entry(&self, object: &ObjectMeta) -> Option<Entry> {
        Some(Entry {
            key: object.location.as_ref().strip_prefix(&self.prefix)?.to_owned(),
            etag: self.listed_tag(object.e_tag.as_deref(), object.version.as_deref()),
            modified: stamp(object.last_modified.timestamp_nanos_opt()),
        })
    }
}
