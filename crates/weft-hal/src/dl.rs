//! Driver libraries: found at run time, loaded once, never unloaded (drivers keep threads that run their code).

use std::path::Path;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

/// Opens a library by name or path. The error is the loader's sentence.
pub(crate) fn open(name: &Path) -> Result<&'static Library, String> {
    // SAFETY: runs the library's initialisers. These are drivers that the user or the system installed for this.
    let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) };
    match library {
        Ok(library) => Ok(Box::leak(Box::new(library))),
        Err(error) => {
            // libloading hides the loader's words in the source.
            let source = std::error::Error::source(&error).map(ToString::to_string);
            Err(source.unwrap_or_else(|| error.to_string()))
        }
    }
}

/// A table of functions that a library exports under the fields' names, with the constructor that fills it.
macro_rules! functions {
    ($(#[$meta:meta])* $name:ident { $($function:ident($($argument:ty),* $(,)?) -> $result:ty;)* }) => {
        $(#[$meta])*
        #[allow(non_snake_case)]
        pub(crate) struct $name {
            $(pub(crate) $function: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl $name {
            /// Looks every function up by name; the error is the first name that is missing.
            ///
            /// # Safety
            /// `find` returns null or a function of the declared type.
            pub(crate) unsafe fn find(
                find: impl Fn(&std::ffi::CStr) -> *mut std::ffi::c_void,
            ) -> Result<Self, &'static str> {
                $(
                    #[allow(non_snake_case)]
                    let $function = {
                        const NAME: &std::ffi::CStr = match std::ffi::CStr::from_bytes_with_nul(
                            concat!(stringify!($function), "\0").as_bytes(),
                        ) {
                            Ok(name) => name,
                            Err(_) => panic!("an identifier holds no NUL"),
                        };
                        let address = find(NAME);
                        if address.is_null() {
                            return Err(stringify!($function));
                        }
                        // SAFETY: not null, and the caller vouches for the type.
                        unsafe {
                            std::mem::transmute::<
                                *mut std::ffi::c_void,
                                unsafe extern "C" fn($($argument),*) -> $result,
                            >(address)
                        }
                    };
                )*
                Ok(Self { $($function),* })
            }
        }
    };
}
pub(crate) use functions;

/// The address a library exports under a name, or null.
pub(crate) fn address(library: &Library, name: &std::ffi::CStr) -> *mut std::ffi::c_void {
    // SAFETY: only the address is taken here; `functions!` gives it its type.
    let symbol = unsafe { library.get::<*mut std::ffi::c_void>(name) };
    symbol.map_or(std::ptr::null_mut(), |symbol| symbol.as_raw_ptr())
}
