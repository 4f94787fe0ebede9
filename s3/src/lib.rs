//! S3's dialect of the store vocabulary: signed requests out, replies in, no sockets.
