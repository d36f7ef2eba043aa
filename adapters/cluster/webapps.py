"""The applications behind a broker's admin API: made once, and lent to one broker after another.

A broker that starts describes hundreds of requests to Jersey, which costs six times as much as all
else that it does then. What Jersey makes of them is the same for every broker: an application
knows its broker by the context of its servlet alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import jpype
from pulsar_conformance.adapters.pulsar.jvm import Java, exists, field, java_class

SERVLET = "org.glassfish.jersey.servlet.ServletContainer"
CONSUMER = "java.util.function.Consumer"
STARTS, ENDS = "conformanceStarts", "conformanceEnds"
"""Fields of the servlet whose listeners are called at start and end."""


def reuse_webapps() -> None:
    """Let each broker that starts from now on reuse what an earlier one left.

    To be called once, before any broker has been started.
    """
    if not exists("javassist.ClassPool"):
        return  # a build without it starts its brokers as usual
    apps, servlet = WebApps(), _changed()
    field(servlet, STARTS).set(None, _Told(apps.starts))
    field(servlet, ENDS).set(None, _Told(apps.ends))


def _changed() -> Java:
    """Jersey's servlet, which makes no application when it starts, and ends none."""
    loader = java_class("java.lang.ClassLoader").getSystemClassLoader()
    classes = java_class("javassist.ClassPool")()
    classes.appendClassPath(java_class("javassist.LoaderClassPath")(loader))
    servlet = classes.get(SERVLET)
    for name in (STARTS, ENDS):
        declared = f"public static {CONSUMER} {name};"
        servlet.addField(java_class("javassist.CtField").make(declared, servlet))
    nothing = jpype.JArray(java_class("javassist.CtClass"))(0)
    servlet.getDeclaredMethod("init", nothing).setBody(f"{{ {STARTS}.accept($0); }}")
    servlet.getDeclaredMethod("destroy", nothing).setBody(f"{{ {ENDS}.accept($0); }}")
    servlet.toClass(loader, None)
    return java_class(SERVLET)


class WebApps:
    """The applications that no broker has at present, by their path."""

    def __init__(self) -> None:
        self._free: dict[str, list[WebApp]] = defaultdict(list)
        self._lent: dict[Java, tuple[str, WebApp]] = {}

    def starts(self, servlet: Java) -> None:
        """A broker starts a servlet, which gets the application for its path."""
        path = str(servlet.getServletContext().getContextPath())
        free = self._free[path]
        app = free.pop() if free else WebApp(servlet)
        app.serve(servlet)
        self._lent[servlet] = (path, app)

    def ends(self, servlet: Java) -> None:
        """Record that a broker ends a servlet, once no request uses it."""
        path, app = self._lent.pop(servlet)
        self._free[path].append(app)


class WebApp:
    """Jersey's application of one path, for the broker to which it is lent."""

    def __init__(self, servlet: Java) -> None:
        """Copy the configuration from the first broker's servlet, and keep no reference to it."""
        config = field(servlet, "config")
        kind = config.getType()
        self._context = _Present()
        self._config = _Present()
        self._present(servlet)
        context = self._context.of(kind.getMethod("getServletContext").getReturnType())
        self._config.instead["getServletContext"] = context
        described = field(servlet, "resourceConfig").get(servlet)
        own = java_class(SERVLET)(described)
        config.set(own, self._config.of(kind))
        package = SERVLET.rpartition(".")[0]
        web = java_class(f"{package}.WebServletConfig")(own)
        self._component = java_class(f"{package}.WebComponent")(web, described)
        field(self._component, "appHandler").get(self._component).onStartup(own)

    def serve(self, servlet: Java) -> None:
        """Answer for the broker of this servlet from now on."""
        self._present(servlet)
        field(servlet, "webComponent").set(servlet, self._component)

    def _present(self, servlet: Java) -> None:
        self._context.target = servlet.getServletContext()
        self._config.target = servlet.getServletConfig()


@jpype.JImplements("java.lang.reflect.InvocationHandler", deferred=True)
class _Present:
    """Passes calls on to the object that has its place at present."""

    def __init__(self) -> None:
        self.target: Java = None
        self.instead: dict[str, Java] = {}

    def of(self, kind: Java) -> Java:
        """An object of this interface."""
        kinds = jpype.JArray(java_class("java.lang.Class"))([kind])
        return java_class("java.lang.reflect.Proxy").newProxyInstance(
            kind.getClassLoader(), kinds, self
        )

    @jpype.JOverride
    def invoke(self, proxy: Java, method: Java, arguments: Java) -> Java:  # noqa: ARG002  Java's signature
        """Handle a call. Errors: those that the call throws."""
        name = str(method.getName())
        if name in self.instead:
            return self.instead[name]
        try:
            return method.invoke(self.target, arguments)
        except java_class("java.lang.reflect.InvocationTargetException") as error:
            raise error.getCause() from None


@jpype.JImplements("java.util.function.Consumer", deferred=True)
class _Told:
    """Tells a function."""

    def __init__(self, tell: Callable[[Java], None]) -> None:
        self._tell = tell

    @jpype.JOverride
    def accept(self, servlet: Java) -> None:
        """Called by a servlet."""
        self._tell(servlet)
