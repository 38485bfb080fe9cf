//! What classification reads of a request: who asks, and for what.
//!
//! Both come from after authentication and after impersonation: an impersonated identity is the
//! one that is classified.

/// The groups of a user, in whichever form the host already holds them.
#[derive(Debug, Clone, Copy)]
pub enum Groups<'a> {
    /// Borrowed strings.
    Borrowed(&'a [&'a str]),
    /// Owned strings.
    Owned(&'a [String]),
}

impl<'a> Groups<'a> {
    /// A user without groups.
    pub const NONE: Groups<'static> = Groups::Borrowed(&[]);

    /// How many groups there are.
    pub fn len(self) -> usize {
        match self {
            Groups::Borrowed(groups) => groups.len(),
            Groups::Owned(groups) => groups.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The groups in the order given.
    pub fn iter(self) -> impl Iterator<Item = &'a str> {
        let (borrowed, owned) = match self {
            Groups::Borrowed(groups) => (groups, &[][..]),
            Groups::Owned(groups) => (&[][..], groups),
        };
        borrowed.iter().copied().chain(owned.iter().map(String::as_str))
    }

    /// Whether `name` is one of the groups.
    pub fn contains(self, name: &str) -> bool {
        self.iter().any(|group| group == name)
    }
}

impl<'a> From<&'a [&'a str]> for Groups<'a> {
    fn from(groups: &'a [&'a str]) -> Self {
        Groups::Borrowed(groups)
    }
}

impl<'a, const N: usize> From<&'a [&'a str; N]> for Groups<'a> {
    fn from(groups: &'a [&'a str; N]) -> Self {
        Groups::Borrowed(groups)
    }
}

impl<'a> From<&'a [String]> for Groups<'a> {
    fn from(groups: &'a [String]) -> Self {
        Groups::Owned(groups)
    }
}

impl<'a> From<&'a Vec<String>> for Groups<'a> {
    fn from(groups: &'a Vec<String>) -> Self {
        Groups::Owned(groups)
    }
}

/// A request for an API resource. Absent parts are `""`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resource<'a> {
    /// API group, `""` for the core group.
    pub api_group: &'a str,
    /// API version; plays no part in classification.
    pub api_version: &'a str,
    /// Resource, plural and lower case: `pods`.
    pub resource: &'a str,
    /// Subresource: `status`.
    pub subresource: &'a str,
    /// Namespace, `""` for cluster-scoped requests and for lists across namespaces.
    pub namespace: &'a str,
    /// Name of the object; plays no part in classification.
    pub name: &'a str,
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// An API resource.
    Resource(Resource<'a>),
    /// Any other URL: health checks, discovery, metrics.
    NonResource {
        /// The URL's path, decoded, without query.
        path: &'a str,
    },
}

/// A request as classification sees it. Borrows everything, copies nothing.
#[derive(Debug, Clone, Copy)]
pub struct RequestAttributes<'a> {
    /// User name.
    pub user: &'a str,
    /// The user's groups.
    pub groups: Groups<'a>,
    /// Verb: of the API (`list`, `deletecollection`, …) for resources, the lower-case HTTP method
    /// (`get`, `head`, `post`, …) otherwise.
    pub verb: &'a str,
    /// What the request is for.
    pub target: Target<'a>,
}

impl<'a> RequestAttributes<'a> {
    /// A request for a resource of the core group; refine it with the `with_…` methods and
    /// [`in_group`](Self::in_group), [`in_namespace`](Self::in_namespace).
    pub fn resource(verb: &'a str, resource: &'a str) -> Self {
        let target = Target::Resource(Resource { resource, ..Resource::default() });
        RequestAttributes { user: "", groups: Groups::NONE, verb, target }
    }

    /// A request for a URL that is no resource.
    pub fn non_resource(verb: &'a str, path: &'a str) -> Self {
        RequestAttributes { user: "", groups: Groups::NONE, verb, target: Target::NonResource { path } }
    }

    /// The same request, made by `user`, a member of `groups`.
    pub fn by(mut self, user: &'a str, groups: impl Into<Groups<'a>>) -> Self {
        self.user = user;
        self.groups = groups.into();
        self
    }

    /// The same request, for a resource of the API group. Changes nothing on a non-resource request.
    pub fn in_group(self, api_group: &'a str) -> Self {
        self.edit(|resource| resource.api_group = api_group)
    }

    /// The same request, in a namespace. Changes nothing on a non-resource request.
    pub fn in_namespace(self, namespace: &'a str) -> Self {
        self.edit(|resource| resource.namespace = namespace)
    }

    /// The same request, for a subresource. Changes nothing on a non-resource request.
    pub fn with_subresource(self, subresource: &'a str) -> Self {
        self.edit(|resource| resource.subresource = subresource)
    }

    /// The same request, for one object. Changes nothing on a non-resource request.
    pub fn with_name(self, name: &'a str) -> Self {
        self.edit(|resource| resource.name = name)
    }

    /// The namespace that `ByNamespace` reads: `""` unless the request is for a namespaced resource.
    pub fn namespace(&self) -> &'a str {
        match self.target {
            Target::Resource(resource) => resource.namespace,
            Target::NonResource { .. } => "",
        }
    }

    fn edit(mut self, change: impl FnOnce(&mut Resource<'a>)) -> Self {
        if let Target::Resource(resource) = &mut self.target {
            change(resource);
        }
        self
    }
}
