//! The HTTP client below the `object_store` crate: the drivers' own, so that redirects, retries, connections and
//! limits are the same for every store, and so that the adapter hears what the crate does not tell.

use core::future::poll_fn;
use core::mem;
use core::pin::Pin;

use async_trait::async_trait;
use http_body::Body as _;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
    HttpService,
};
use reqwest::{Body, Client, Request, Url};
use tenure_blocking::http::{Transport, collect, fault};
use tenure_core::{Fault, FaultKind};
use tenure_s3::Response;

use super::answer::Answer;
use super::ear::{Ear, Heard};
use crate::halves::Halves;
use crate::s3::{client, read_body};

/// Two HTTP clients: leases have connections of their own.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    leases: Client,
    others: Client,
}

impl Wire {
    pub(super) fn new(is_local: bool, transport: &Transport) -> Result<Self, Fault> {
        Ok(Self { leases: client(is_local, transport, 1)?, others: client(is_local, transport, 16)? })
    }

    async fn exchange(&self, request: Request, ear: &Ear) -> Result<HttpResponse, HttpError> {
        let client = if ear.is_lease() { &self.leases } else { &self.others };
        ear.hear(Heard::Begun);
        let mut response = client.execute(request).await.map_err(|error| {
            let fault = fault(&error);
            if error.is_connect() {
                ear.hear(Heard::Unsent(fault.clone()));
                HttpError::new(HttpErrorKind::Connect, fault)
            } else {
                silent(ear, fault)
            }
        })?;
        let (status, headers) = (response.status(), mem::take(response.headers_mut()));
        let body = read_body(response, ear.max()).await.map_err(|fault| silent(ear, fault))?;
        if ear.is_too_long(status.as_u16(), body.len()) {
            let why = format!("the answer is longer than {} bytes", ear.max());
            return Err(silent(ear, Fault::new(FaultKind::Malformed, why)));
        }
        if ear.is_page(status.as_u16(), body.len()) {
            let why = format!("a write was answered {} with a page", status.as_u16());
            return Err(silent(ear, Fault::new(FaultKind::Malformed, why)));
        }
        let azure_code = headers.get("x-ms-error-code").map(|code| code.as_bytes());
        let heard = Response { status: status.as_u16(), headers: collect(&headers), body: &body };
        ear.hear(Heard::Answer(Answer::new(&heard, azure_code)));
        let mut answer = HttpResponse::new(body.into());
        *answer.status_mut() = status;
        *answer.headers_mut() = headers;
        Ok(answer)
    }
}

impl HttpConnector for Wire {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Wire {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let ear = request.extensions().get::<Ear>().cloned().unwrap_or_else(Ear::deaf);
        let (parts, body) = request.into_parts();
        let url = Url::parse(&parts.uri.to_string())
            .map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        let mut request = Request::new(parts.method, url);
        *request.headers_mut() = parts.headers;
        let body = whole(body).await?;
        *request.body_mut() = Some(match ear.take_between() {
            Some(between) => Body::wrap(Halves::new(body, between)),
            None => Body::from(body),
        });
        self.exchange(request, &ear).await
    }
}

fn silent(ear: &Ear, fault: Fault) -> HttpError {
    ear.hear(Heard::Silent(fault.clone()));
    HttpError::new(HttpErrorKind::Unknown, fault)
}

/// Collects a body, all of which is in memory.
async fn whole(mut body: HttpRequestBody) -> Result<Vec<u8>, HttpError> {
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        if let Ok(data) = frame?.into_data() {
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes)
}
